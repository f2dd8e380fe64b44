/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDED_PASSES_H
#define VT_ANALYZER_RECORDED_PASSES_H

/*
 * Backward passes that are not there to fill .grad.  Those that autograd recorded itself
 * (create_graph=True): its numbering goes on while their nodes work, and a program goes on
 * computing with what they make, gradients of inputs in a penalty or of an inner step of learning.
 * And those of autograd.grad(), which returns what it was asked for.
 */

#include "analyzer/attribution/calls/spans.h"
#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/model/model.h"

struct vt_recorded_passes {
	uint8_t *what;        /* by span: bit per enum vt_pass_purpose */
	uint8_t *has_plain;   /* by span: it holds one that fills .grad, too */
	uint8_t is_any_plain; /* there are backward passes that fill .grad */
};

/* `index`: of the spans that are looked at. */
void vt_recorded_passes_init(struct vt_recorded_passes *passes, const struct vt_model *model,
			     const struct vt_span_index *index);
void vt_recorded_passes_release(struct vt_recorded_passes *passes);

/* Whether a span holds nothing but such passes. */
int vt_recorded_passes_is_inner(const struct vt_recorded_passes *passes, uint32_t span);

#endif
