/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDED_PASSES_H
#define VT_ANALYZER_RECORDED_PASSES_H

/*
 * Backward passes that autograd recorded itself (create_graph=True): its numbering goes on while
 * their nodes work.  What such a pass makes, a program goes on computing with: gradients of inputs
 * in a penalty, gradients of an inner step of learning.
 */

#include "analyzer/attribution/stages.h"

struct vt_recorded_passes {
	uint8_t *is_recorded; /* by span */
	uint8_t is_any_other; /* there are backward passes that were not recorded */
};

void vt_recorded_passes_init(struct vt_recorded_passes *passes, const struct vt_stages *stages);
void vt_recorded_passes_release(struct vt_recorded_passes *passes);

/* Whether a node of such a pass made it. */
int vt_recorded_passes_has(const struct vt_recorded_passes *passes, const struct vt_stages *stages,
			   const struct vt_allocation *a);

#endif
