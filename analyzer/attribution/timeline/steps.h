/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STEPS_H
#define VT_ANALYZER_STEPS_H

/*
 * Training steps: from behind the step before to the end of its own last optimizer step.
 *
 * Optimizers that take turns (a generator's and a critic's) make one step together: only when one
 * of them steps a second time has the next begun.  What an optimizer calls itself while it steps (a
 * closure) belongs to that step.  Without any optimizer a step is a forward with its backward pass
 * and all that follows before the next forward, where there are several; one alone, or one that ran
 * out of memory, is a step that did not end.
 */

#include "analyzer/attribution/calls/spans.h"
#include "analyzer/attribution/timeline/recorded_passes.h"
#include "analyzer/attribution/timeline/shown_moments.h"

/*
 * A forward and its backward pass, of several before one optimizer step.  Whole spans.  A
 * backward pass whose results the program computes with, for a penalty, is a part of it.
 */
struct vt_micro_batch {
	uint32_t first_span;
	uint32_t last_span;
};

/* Whole spans, so that the highest use in a step is that of its spans. */
struct vt_step {
	uint32_t first_span;
	uint32_t last_span;
	uint32_t first_micro_batch;
	uint32_t nr_micro_batches;
	uint8_t is_complete; /* its optimizer step was seen to end */
};

struct vt_steps {
	struct vt_step *steps;
	uint32_t nr;
	struct vt_micro_batch *micro_batches; /* of all steps */
	uint32_t nr_micro_batches;
};

/* Sets `step` of all spans, too. */
void vt_steps_init(struct vt_steps *steps, const struct vt_shown_moments *shown,
		   struct vt_span *spans, uint32_t nr_spans,
		   const struct vt_recorded_passes *recorded);
void vt_steps_release(struct vt_steps *steps);

#endif
