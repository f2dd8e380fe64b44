/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXTRAPOLATION_H
#define VT_ANALYZER_EXTRAPOLATION_H

/*
 * A recorded run with another batch: every block as large as its scaling (scaling.h) makes it, the
 * events in their order, the requests played to the allocator's model.  That order and the number
 * of blocks are those of the recording is the assumption behind all of it.
 */

#include "analyzer/analysis/analysis.h"
#include "analyzer/diagnosis/scaling.h"
#include "analyzer/planner/owners.h"
#include "analyzer/replay/replay.h"

/* What of one owner follows the batch in one way. */
struct vt_extrapolation_row {
	const char *owner;
	enum vt_scaling scaling;
	uint32_t blocks;
	double was_bytes; /* at the recorded peak */
	double bytes;     /* at the predicted one */
};

VT_VECTOR_DECLARE(vt_extrapolation_rows, struct vt_extrapolation_row);

struct vt_extrapolation_stage {
	const char *name; /* as the report's */
	double was_bytes, bytes; /* allocated, at most */
};

struct vt_extrapolation {
	const struct vt_trace *trace; /* that is played */
	struct vt_analysis *analysis;
	const struct vt_device *device; /* the one of the highest peak */
	struct vt_scalings scalings;
	struct vt_scaling_size is;
	struct vt_extrapolation_rows rows; /* largest first */
	struct vt_extrapolation_stage stages[VT_NR_STAGES];
	double was_allocated, allocated; /* peaks of blocks */
	int64_t event; /* of the predicted peak */
	struct vt_replay was, played; /* blocks and segments; without a limit where that failed */
	uint64_t device_bytes; /* that `played` has; 0: not known, no limit */
	/* Why the recording has not all that such a run takes; NULL: nothing says so. */
	char *unfinished;
	int is_served; /* it ran to its end on them, cached segments given back where needed */
};

/*
 * `is`: a batch or a sequence of 0 is the recorded one.  `device_bytes`: what contexts and
 * allocations can take together there, 0: as on the recorded device.  0, or -1 with `diag` filled;
 * vt_extrapolation_release in both cases.
 */
int vt_extrapolation_init(struct vt_extrapolation *run, struct vt_analysis *analysis,
			struct vt_scaling_size was, struct vt_scaling_size is,
			uint64_t device_bytes, struct vt_diag *diag);
void vt_extrapolation_release(struct vt_extrapolation *run);

#endif
