/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PRODUCER_H
#define VT_ANALYZER_PRODUCER_H

/*
 * Where in the program the producer of an allocation stood.  That is its Python stack, but for what
 * a node of the backward pass made without Python of its own: there it is the stack of the forward
 * call that made the node.
 */

#include <stdint.h>

#include "analyzer/model/model.h"

/* A Python stack's id, 0: unknown.  It is not a->python_stack where it is that of the forward. */
uint32_t vt_producer_stack(const struct vt_model *model, const struct vt_allocation *a);

#endif
