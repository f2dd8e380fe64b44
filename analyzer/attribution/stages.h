/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STAGES_H
#define VT_ANALYZER_STAGES_H

/*
 * When the program did what: the recording cut into spans, each of one stage, and into training
 * steps.
 *
 * An event that shows no stage (stage_evidence.h) belongs to the stage that was there before
 * it.  Everything before the first forward is load.  A step ends with a run of optimizer events.
 */

#include <stdint.h>

#include "analyzer/attribution/calls.h"
#include "analyzer/attribution/chains.h"
#include "analyzer/attribution/stage_evidence.h"

/* What happened on one device during a span. */
struct vt_span_totals {
	uint64_t peak_used_bytes; /* without the context */
	int64_t peak_event;
	uint64_t peak_allocated_bytes; /* highest, not necessarily at peak_event */
	uint64_t end_allocated_bytes;
};

struct vt_span {
	int64_t first_event;
	int64_t last_event; /* the next span starts behind it */
	uint32_t step;      /* from 1; 0 = none */
	uint8_t stage;      /* enum vt_stage */
};

/* Whole spans, so that the highest use in a step is that of its spans. */
struct vt_step {
	uint32_t first_span;
	uint32_t last_span;
	uint8_t is_complete; /* its optimizer step was seen to end */
};

struct vt_stages {
	const struct vt_timeline *timeline;
	struct vt_span *spans;
	uint32_t nr_spans;
	struct vt_span_totals *totals; /* nr_spans rows of one entry per vt_model.devices */
	struct vt_step *steps;
	uint32_t nr_steps;
	struct vt_stage_evidence evidence;
	struct vt_chains chains;
	struct vt_calls calls;
};

void vt_stages_init(struct vt_stages *stages, const struct vt_timeline *timeline,
		    const struct vt_rules *rules);
void vt_stages_release(struct vt_stages *stages);

/* Index of the span that holds `event`; VT_NO_INDEX where there are no spans. */
uint32_t vt_stages_span_at(const struct vt_stages *stages, int64_t event);
/* NULL where the step is 0 or unknown. */
const struct vt_step *vt_stages_step(const struct vt_stages *stages, uint32_t step);
const struct vt_span_totals *vt_stages_totals(const struct vt_stages *stages, uint32_t span,
					      uint32_t device_index);

#endif
