/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STAGES_H
#define VT_ANALYZER_STAGES_H

/*
 * When the program did what: the recording cut into spans, each of one stage, and into training
 * steps.
 *
 * An event that shows no stage (stage_evidence.h) belongs to the stage that was there before
 * it.  Everything before the first forward is load.  What a step is, steps.h says.
 */

#include <stdint.h>

#include "analyzer/attribution/timeline/call_uses.h"
#include "analyzer/attribution/calls/calls.h"
#include "analyzer/attribution/calls/module_stack.h"
#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/attribution/timeline/passes.h"
#include "analyzer/attribution/timeline/recorded_passes.h"
#include "analyzer/attribution/calls/spans.h"
#include "analyzer/attribution/timeline/stage_evidence.h"
#include "analyzer/attribution/timeline/steps.h"
#include "analyzer/attribution/calls/totals.h"

struct vt_stages {
	const struct vt_timeline *timeline;
	const struct vt_rules *rules;
	struct vt_span *spans;
	uint32_t nr_spans;
	struct vt_span_index index; /* of the spans */
	struct vt_range_totals *totals; /* nr_spans rows of one entry per vt_model.devices */
	struct vt_recorded_passes recorded;
	struct vt_steps steps;
	struct vt_stage_evidence evidence;
	struct vt_module_stacks module_stacks;
	struct vt_calls calls;
	struct vt_call_uses call_uses;
	struct vt_passes passes;
};

void vt_stages_init(struct vt_stages *stages, const struct vt_timeline *timeline,
		    const struct vt_rules *rules);
void vt_stages_release(struct vt_stages *stages);

/* Index of the span that holds `event`; VT_NO_INDEX where there are no spans. */
uint32_t vt_stages_span_at(const struct vt_stages *stages, int64_t event);
/* Where the first backward pass begins that does so after `event`; VT_NEVER: there is none. */
int64_t vt_stages_next_backward(const struct vt_stages *stages, int64_t event);
/* Bit per enum vt_pass_purpose of the pass in which a node made it; 0: no node did. */
uint32_t vt_stages_purposes(const struct vt_stages *stages, const struct vt_allocation *a);
/* NULL where the step is 0 or unknown. */
const struct vt_step *vt_stages_step(const struct vt_stages *stages, uint32_t step);
/* Whether any span is of that stage. */
int vt_stages_has(const struct vt_stages *stages, enum vt_stage stage);
/* The last event of the last step that ended before `event`; 0: none did. */
int64_t vt_stages_ended(const struct vt_stages *stages, int64_t event);
/*
 * Of its step's micro-batches the one that a span computes, counted from 1; 0: none, or the program
 * does not accumulate.
 */
uint32_t vt_stages_micro_batch(const struct vt_stages *stages, uint32_t span);
/* What the program was doing: "step 2, backward" (free()); NULL: not known. */
char *vt_stages_doing(const struct vt_stages *stages, int64_t event);
const struct vt_range_totals *vt_stages_totals(const struct vt_stages *stages, uint32_t span,
					       uint32_t device_index);
/*
 * The stretches of passes.passes, each to where the next begins or its stage ends: what a program
 * does with a result belongs to the call that gave it.  To be freed.
 */
struct vt_range *vt_stages_passes(const struct vt_stages *stages);

#endif
