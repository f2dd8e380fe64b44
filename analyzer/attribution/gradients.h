/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GRADIENTS_H
#define VT_ANALYZER_GRADIENTS_H

/*
 * Whose gradient a block is that no probe saw: a probe looks a few times, gradients are made in
 * every step.
 *
 * The node that made it belongs to a forward call, the call to an instance of a module, and that
 * has few parameters: the one of this size is meant.  Of several equal ones (weight and bias of a
 * norm) the order in which they were made tells, where a probe saw all of them in another step.
 * What is left is nobody's.
 */

#include "analyzer/attribution/facts.h"

/* Fills facts->gradient_of. */
void vt_gradients_find(struct vt_facts *facts);

#endif
