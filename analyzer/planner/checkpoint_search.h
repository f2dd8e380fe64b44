/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHECKPOINT_SEARCH_H
#define VT_ANALYZER_CHECKPOINT_SEARCH_H

/*
 * Which layers of a recorded run to checkpoint so that it stays below a budget, with the fewest
 * FLOPs computed again: searched over what each layer kept at every moment of the recording.  The
 * run is assumed to do the same otherwise.
 */

#include "analyzer/analysis/analysis.h"
#include "analyzer/planner/cheapest_cover.h"

struct vt_recorded_layer {
	char *path;          /* "model.layers.3" */
	uint64_t kept_bytes; /* that a checkpoint of it saves, in the span where it is most */
	double flops;        /* of its products with weights, forward; 0: not observed */
};

VT_VECTOR_DECLARE(vt_recorded_layers, struct vt_recorded_layer);

struct vt_checkpoint_search {
	const struct vt_analysis *analysis;
	const struct vt_device *device;   /* the one of the highest peak */
	struct vt_recorded_layers layers; /* in the order of their forward */
	uint64_t budget_bytes, context_bytes;
	double was_bytes; /* most allocated, as recorded */
	enum vt_cover_result result;
	uint8_t *chosen;  /* by layer */
	double bytes;     /* most allocated with these */
	uint8_t *nearest; /* chosen but for one layer: what is then least is too much; or NULL */
	double nearest_bytes;
	double least_bytes; /* with all layers */
	double step_flops;  /* products with weights of one step without any; 0: not observed */
	char *unfinished;   /* why the recording has not all that such a run takes; NULL */
};

/*
 * *fitting is zeroed before; vt_checkpoint_search_release() in any case.  0, or -1 with `diag`
 * filled: no blocks of a framework, no layers, or layers that are checkpointed already.
 */
int vt_checkpoint_search_search(struct vt_checkpoint_search *fitting, struct vt_analysis *analysis,
				uint64_t budget_bytes, struct vt_diag *diag);
void vt_checkpoint_search_release(struct vt_checkpoint_search *fitting);

/* FLOPs that a set computes again. */
double vt_checkpoint_search_flops(const struct vt_checkpoint_search *fitting,
				  const uint8_t *chosen);

#endif
