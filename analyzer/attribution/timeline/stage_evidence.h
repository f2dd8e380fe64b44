/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STAGE_EVIDENCE_H
#define VT_ANALYZER_STAGE_EVIDENCE_H

/*
 * Which stage a single event shows by itself: by the autograd node that ran, by the innermost
 * telling Python frame, or by the open range.  Which frames and ranges tell is data, the [stage
 * ...] sections of the rules.
 *
 * An optimizer may be given a closure that computes the loss.  Its step runs under no_grad, the
 * closure does not: below the step of an optimizer that was seen to call the model, an event with
 * autograd enabled that shows nothing else is no event of the optimizer.
 */

#include <stdint.h>

#include "analyzer/attribution/rules/rules.h"
#include "analyzer/model/timeline.h"

#define VT_NO_STAGE VT_NR_STAGES

/* What a Python stack runs through, whatever stage its innermost frames show. */
struct vt_stage_landmarks {
	uint64_t module; /* of the outermost forward, within a generation: below it; 0: none */
	uint64_t optimizer; /* whose step it is; 0: none, or unknown */
	uint32_t type;	    /* of the module: string id */
	uint32_t caller;    /* node that called a step whose optimizer is unknown; 0: none */
	uint8_t is_generating;
};

struct vt_stage_evidence {
	const struct vt_model *model;
	uint8_t *by_stack; /* by Python stack: enum vt_stage or VT_NO_STAGE */
	struct vt_stage_landmarks *landmarks; /* by Python stack */
	uint8_t *has_closure; /* by Python stack: below an optimizer whose step calls the model */
	uint8_t *by_scope; /* by string */
	uint8_t *by_native_stack; /* NULL where modules or autograd tell more */
	int has_forward;   /* some stack shows a forward */
	int has_autograd;  /* autograd numbered something */
};

/* What an event shows about itself. */
struct vt_shown {
	uint8_t stage; /* VT_NO_STAGE: nothing */
	uint8_t has_python;
	uint32_t thread; /* 0: unknown */
};

void vt_stage_evidence_init(struct vt_stage_evidence *evidence, const struct vt_model *model,
			    const struct vt_rules *rules);
void vt_stage_evidence_release(struct vt_stage_evidence *evidence);

struct vt_shown vt_stage_evidence_judge(const struct vt_stage_evidence *evidence,
					const struct vt_moment *moment);

/* What that Python stack shows; of a stack that is not there, nothing. */
const struct vt_stage_landmarks *
vt_stage_evidence_landmarks(const struct vt_stage_evidence *evidence, uint32_t python_stack);

#endif
