/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MEASURED_H
#define VT_ANALYZER_MEASURED_H

/*
 * What a recorded run held on one device, in the planner's words: of each stage the instant of most
 * allocated bytes in the steady state (from the second training step on), by owner.
 */

#include "analyzer/analysis/analysis.h"
#include "analyzer/diagnosis/scaling.h"
#include "analyzer/planner/owners.h"

struct vt_measured_stage {
	const char *name; /* as the report names it: "backward" */
	unsigned planned; /* VT_IN(...): the stages of a plan that happen in it */
	int64_t event;
	uint32_t step; /* 0: in none */
	uint64_t allocated_bytes;
	struct vt_owner_sums owners; /* largest first */
};

#define VT_MEASURED_MAX_STAGES 5

struct vt_measured {
	struct vt_analysis *analysis; /* borrowed */
	const struct vt_device *device; /* the one of the highest peak */
	struct vt_measured_stage stages[VT_MEASURED_MAX_STAGES];
	unsigned nr_stages;
	uint32_t nr_steps;  /* training steps that ended */
	uint32_t first_step; /* the first one that is looked at; 0: nothing is trained */
	const char *weights_dtype; /* "float32", of most bytes; NULL: no probe saw any */
	struct vt_scaling_size size; /* of its inputs; zero: no probe saw any, or they vary */
	char *ended; /* "exit 0" */
	uint64_t nr_lost; /* events */
};

/*
 * 0, or -1 with `diag` filled (exit code 3): no blocks of a framework's allocator, or, where
 * `is_training` is set, no training step that ended, or where it is not, a run that trains.
 * vt_measured_release in both cases.
 */
int vt_measured_init(struct vt_measured *measured, struct vt_analysis *analysis, int is_training,
		     struct vt_diag *diag);
void vt_measured_release(struct vt_measured *measured);

/* The device with most bytes in blocks; NULL: none has any. */
const struct vt_device *vt_measured_device(const struct vt_model *model);

/*
 * The word of a plan for an owner of a report: some that a report tells apart are one term of a
 * plan.
 */
const char *vt_measured_owner(const char *owner, int is_training);

#endif
