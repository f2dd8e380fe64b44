/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SWEEP_H
#define VT_ANALYZER_SWEEP_H

/*
 * --what-if NAME=VALUE,VALUE,...: the whole plan again for every value.
 */

#include "analyzer/base/diag.h"
#include "analyzer/planner/plan.h"

struct vt_sweep {
	enum vt_setting id;
	const char *values; /* separated by commas; points into the user's text */
};

/* 0, or -1 with `diag` filled (exit code 2). */
int vt_sweep_parse(struct vt_sweep *sweep, const char *text, struct vt_diag *diag);

struct vt_sweep_point {
	char value[32];
	double peak;
	enum vt_plan_stage stage;
};

VT_VECTOR_DECLARE(vt_sweep_points, struct vt_sweep_point);

/*
 * 0, or -1 with `diag` filled: a value that the option does not take, or that no device holds.
 * `gpu` may be NULL.
 */
int vt_sweep_run(const struct vt_sweep *sweep, const struct vt_architecture *model,
		 const struct vt_plan_settings *settings, const struct vt_gpu *gpu,
		 struct vt_sweep_points *points, struct vt_diag *diag);

/* The place of the smallest peak, the first of equals. */
size_t vt_sweep_best(const struct vt_sweep_points *points);

#endif
