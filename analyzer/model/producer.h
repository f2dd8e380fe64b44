/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PRODUCER_H
#define VT_ANALYZER_PRODUCER_H

/*
 * Where in the program the producer of an allocation stood.  That is its Python stack, but for what
 * a node of the backward pass made without Python of its own: there it is the stack of the forward
 * call that made the node.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"

/* A Python stack's id, 0: unknown.  It is not a->python_stack where it is that of the forward. */
uint32_t vt_producer_stack(const struct vt_model *model, const struct vt_allocation *a);

/*
 * Its frames that are to be seen, innermost first, "backward of" before the line of a forward call;
 * native ones where there is no Python.  The caller gives them to vt_describe_free.
 */
struct vt_lines vt_producer_lines(const struct vt_describe *describe,
				  const struct vt_allocation *a);

#endif
