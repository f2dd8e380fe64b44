/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GRADIENTS_H
#define VT_ANALYZER_GRADIENTS_H

/*
 * What belongs to a parameter though no probe saw it: a probe looks a few times, gradients and
 * casts of weights are made in every step.
 *
 * The node that made it belongs to a forward call, the call to an instance of a module, and that
 * has few parameters: the one of this size is meant.  Of several equal ones (weight and bias of a
 * norm) the order in which they were made tells, where a probe saw all of them in another step.
 * What is left is nobody's.  A gradient that a function made in its forward is known by the place
 * in the program at which it was made, and a cast of half the size by the module that asked for it.
 */

#include "analyzer/attribution/inference/facts.h"

/* Fills facts->gradient_of and facts->cast_of. */
void vt_gradients_find(struct vt_facts *facts);

#endif
