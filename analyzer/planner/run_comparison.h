/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RUN_COMPARISON_H
#define VT_ANALYZER_RUN_COMPARISON_H

/*
 * A plan beside a recorded run: stage by stage, owner by owner, and which term a difference belongs
 * to.
 */

#include "analyzer/planner/measured.h"

/* How a difference is explained. */
enum vt_run_comparison_reason {
	VT_RUN_COMPARISON_MET,     /* there is none: within 5 % or 16 MiB */
	VT_RUN_COMPARISON_SETTING, /* the plan with `changes` meets it */
	VT_RUN_COMPARISON_OPTION,  /* with them and `option` it does, and is nearer in all */
	VT_RUN_COMPARISON_ABSENT,  /* as large as `term`, planned here: the run has no such bytes */
	VT_RUN_COMPARISON_STAYS,   /* as large as `term`, which is planned for another stage */
	VT_RUN_COMPARISON_TERM, /* `term` is the largest of that owner, and so is the wrong one */
	VT_RUN_COMPARISON_NO_TERM, /* nothing of that owner is planned */
};

struct vt_run_comparison_change {
	enum vt_setting id;
	char value[32];
};

struct vt_run_comparison_row {
	const char *owner;
	double planned, measured;
	const struct vt_term *term; /* of the plan; NULL: no term has this owner */
	enum vt_run_comparison_reason reason;
	struct vt_run_comparison_change
		option; /* OPTION: the one of which the plan comes nearest */
	double option_distance;
};

VT_VECTOR_DECLARE(vt_run_comparison_rows, struct vt_run_comparison_row);

struct vt_run_comparison_stage {
	const struct vt_measured_stage *measured;
	enum vt_plan_stage stage; /* the one of the plan that is compared: its largest there */
	double planned; /* without the context */
	struct vt_run_comparison_rows rows; /* largest difference first */
};

#define VT_RUN_COMPARISON_MAX_CHANGES 3

struct vt_run_comparison {
	const struct vt_plan *plan;
	struct vt_measured measured;
	struct vt_run_comparison_stage stages[VT_MEASURED_MAX_STAGES];
	unsigned nr_stages;
	double planned_peak, measured_peak; /* of the stages, without the context */
	/* Settings with which the plan comes nearest to the run; none where it is near as it is. */
	struct vt_run_comparison_change changes[VT_RUN_COMPARISON_MAX_CHANGES];
	unsigned nr_changes;
	double changed_peak;
};

/* 0, or -1 with `diag` filled; vt_run_comparison_release in both cases.  All borrowed. */
int vt_run_comparison_init(struct vt_run_comparison *comparison, const struct vt_plan *plan,
		    struct vt_analysis *analysis, struct vt_diag *diag);
void vt_run_comparison_release(struct vt_run_comparison *comparison);

/* In a sentence; the caller frees.  NULL where there is no difference. */
char *vt_run_comparison_explain(const struct vt_run_comparison *comparison,
			    const struct vt_run_comparison_row *row);

#endif
