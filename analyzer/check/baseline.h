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

/*
 * `measure`: of the run that is checked, which must outlive it.  Returns 0, or -1 with `diag`
 * filled; vt_baseline_release in both cases.
 */
int vt_baseline_init(struct vt_baseline *baseline, const char *path, const char *rules,
		     struct vt_measure *measure, struct vt_diag *diag);
void vt_baseline_release(struct vt_baseline *baseline);

/* As vt_measure_take. */
void vt_baseline_take(struct vt_baseline *baseline, const struct vt_limit *limit, int device,
		      struct vt_figure *figure);

#endif
