/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLANNER_H
#define VT_ANALYZER_PLANNER_H

/*
 * The planner's door: what `vtrace estimate` shows, as text or JSON.
 */

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/planner/budget_search.h"
#include "analyzer/planner/sweep.h"

struct vt_planner_request {
	const struct vt_architecture *model;
	struct vt_plan_settings settings;
	const struct vt_gpu *gpu;               /* NULL: all that are known */
	const struct vt_sweep *sweep;           /* NULL: one plan */
	struct vt_analysis *against;            /* a recorded run beside the plan; NULL: none */
	struct vt_budget_search *budget;        /* filled, and shown: what fits gpu; NULL: none */
};

/* Makes and prints.  0, or -1 with `diag` filled. */
int vt_planner_text_print(const struct vt_planner_request *request, FILE *out,
			  struct vt_diag *diag);
int vt_planner_json_print(const struct vt_planner_request *request, FILE *out,
			  struct vt_diag *diag);

#endif
