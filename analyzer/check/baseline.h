/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BASELINE_H
#define VT_ANALYZER_BASELINE_H

/*
 * What "+5%" is more than: the figures of another recording, or those that `vtrace check --json`
 * printed of one, which are small enough to be kept beside the source.
 */

#include <jansson.h>

#include "analyzer/check/measure.h"
#include "analyzer/diff/runs.h"

struct vt_baseline {
	json_t *figures; /* of a JSON file; else it is a recording */
	int is_recording;
	struct vt_analysis analysis;
	struct vt_measure measure;
	struct vt_runs runs;	       /* what differs between it and that run */
};

/* Several runs that are equal: how far their figures lie apart is what a run may differ by. */
struct vt_baselines {
	struct vt_baseline *items;
	unsigned nr;
};

/*
 * Of paths that are not twice the same.  `measure`: of the run that is checked, which must outlive
 * it.  Returns 0, or -1 with `diag` filled; vt_baselines_release in both cases.
 */
int vt_baselines_init(struct vt_baselines *baselines, char *const *paths, unsigned nr,
		      const char *rules, struct vt_measure *measure, struct vt_diag *diag);
void vt_baselines_release(struct vt_baselines *baselines);

/*
 * The median of their figures (of an even number the lower one), and the distance of the least and
 * the most; no figure where one of them has none.  Returns the one whose figure it is.
 */
struct vt_baseline *vt_baselines_take(struct vt_baselines *baselines, const struct vt_limit *limit,
				      int device, struct vt_figure *figure, uint64_t *spread);

#endif
