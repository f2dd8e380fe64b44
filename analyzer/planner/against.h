/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_AGAINST_H
#define VT_ANALYZER_AGAINST_H

/*
 * A plan beside a recorded run: stage by stage, owner by owner, and which term a difference belongs
 * to.
 */

#include "analyzer/planner/measured.h"

/* How a difference is explained. */
enum vt_against_reason {
	VT_AGAINST_MET,     /* there is none: within 5 % or 16 MiB */
	VT_AGAINST_SETTING, /* the plan with `changes` meets it */
	VT_AGAINST_OPTION,  /* with them and `option` it does, and is nearer in all */
	VT_AGAINST_ABSENT,  /* as large as `term`, planned here: the run has no such bytes */
	VT_AGAINST_STAYS,   /* as large as `term`, which is planned for another stage */
	VT_AGAINST_TERM,    /* `term` is the largest of that owner, and so is the wrong one */
	VT_AGAINST_NO_TERM, /* nothing of that owner is planned */
};

struct vt_against_change {
	enum vt_setting id;
	char value[32];
};

struct vt_against_row {
	const char *owner;
	double planned, measured;
	const struct vt_term *term; /* of the plan; NULL: no term has this owner */
	enum vt_against_reason reason;
	struct vt_against_change option; /* OPTION: the one of which the plan comes nearest */
	double option_distance;
};

VT_VECTOR_DECLARE(vt_against_rows, struct vt_against_row);

struct vt_against_stage {
	const struct vt_measured_stage *measured;
	enum vt_plan_stage stage; /* the one of the plan that is compared: its largest there */
	double planned; /* without the context */
	struct vt_against_rows rows; /* largest difference first */
};

#define VT_AGAINST_MAX_CHANGES 3

struct vt_against {
	const struct vt_plan *plan;
	struct vt_measured measured;
	struct vt_against_stage stages[VT_MEASURED_MAX_STAGES];
	unsigned nr_stages;
	double planned_peak, measured_peak; /* of the stages, without the context */
	/* Settings with which the plan comes nearest to the run; none where it is near as it is. */
	struct vt_against_change changes[VT_AGAINST_MAX_CHANGES];
	unsigned nr_changes;
	double changed_peak;
};

/* 0, or -1 with `diag` filled; vt_against_release in both cases.  All borrowed. */
int vt_against_init(struct vt_against *against, const struct vt_plan *plan,
		    struct vt_analysis *analysis, struct vt_diag *diag);
void vt_against_release(struct vt_against *against);

/* In a sentence; the caller frees.  NULL where there is no difference. */
char *vt_against_explain(const struct vt_against *against, const struct vt_against_row *row);

#endif
