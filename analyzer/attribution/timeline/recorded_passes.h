/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDED_PASSES_H
#define VT_ANALYZER_RECORDED_PASSES_H

/*
 * Backward passes that are not there to fill .grad.  Those that autograd recorded itself
 * (create_graph=True): its numbering goes on while their nodes work, and a program goes on
 * computing with what they make, gradients of inputs in a penalty or of an inner step of learning.
 * And those of autograd.grad(), which returns what it was asked for.
 */

#include "analyzer/attribution/timeline/stages.h"

struct vt_recorded_passes {
	uint8_t *what;        /* by span: bit per enum vt_pass_purpose */
	uint8_t is_any_plain; /* there are backward passes that fill .grad */
};

void vt_recorded_passes_init(struct vt_recorded_passes *passes, const struct vt_stages *stages);
void vt_recorded_passes_release(struct vt_recorded_passes *passes);

/* Bit per enum vt_pass_purpose of the pass in which a node made it; 0: no node did. */
uint32_t vt_recorded_passes_of(const struct vt_recorded_passes *passes,
			       const struct vt_stages *stages, const struct vt_allocation *a);

#endif
