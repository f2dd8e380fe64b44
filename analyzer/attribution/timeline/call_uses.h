/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CALL_USES_H
#define VT_ANALYZER_CALL_USES_H

/*
 * Which calls of modules evaluate, in a program that trains.
 *
 * A call trains if a backward pass ran a node that autograd numbered during it.  Whether autograd
 * was enabled does not decide: autocast's cached casts make nodes under no_grad, custom functions
 * compute without nodes, and a validation without no_grad makes a graph that nobody uses.
 *
 * A call that does not train still serves the training step (a teacher, a generator whose images
 * the critic learns from) where it was made while the graph of another waits for its backward pass,
 * or where something that it made is alive in the next backward pass and gone soon after.
 * Any other call of a module that is trained elsewhere, or of its class, evaluates.
 */

#include "analyzer/attribution/calls/calls.h"
#include "analyzer/attribution/timeline/shown_moments.h"

enum vt_call_use {
	VT_CALL_UNDECIDED, /* of a module that is never trained: what the program does around it */
	VT_CALL_TRAINS,
	VT_CALL_EVALUATES,
};

struct vt_call_uses {
	uint8_t *by_call; /* enum vt_call_use */
};

void vt_call_uses_init(struct vt_call_uses *uses, const struct vt_shown_moments *shown,
		       const struct vt_calls *calls, const struct vt_module_stacks *module_stacks);
void vt_call_uses_release(struct vt_call_uses *uses);

#endif
