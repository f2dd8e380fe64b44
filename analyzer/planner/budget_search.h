/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BUDGET_SEARCH_H
#define VT_ANALYZER_BUDGET_SEARCH_H

/*
 * The least costly sets of changes with which a step of training fits a device.  The batch and the
 * length stay as they were asked for.
 */

#include "analyzer/planner/card_fit.h"

/* Of the dearest change of a set, the cheapest first. */
enum vt_budget_search_price {
	VT_BUDGET_SEARCH_FREE,      /* nothing */
	VT_BUDGET_SEARCH_RECOMPUTE, /* layers are computed twice */
	VT_BUDGET_SEARCH_ROUND,     /* states of the optimizer are rounded */
	VT_BUDGET_SEARCH_COPY,      /* what is on the host is copied at every step */
};

/* As many as there are settings that are changed. */
#define VT_BUDGET_SEARCH_MAX_STEPS 8

struct vt_budget_search_set {
	struct vt_change_step steps[VT_BUDGET_SEARCH_MAX_STEPS];
	unsigned nr_steps;
	unsigned nr_changes; /* a number of layers belongs to the checkpointing of them */
	enum vt_budget_search_price price;
	uint64_t recomputed; /* layers */
	double flops;        /* that these take once more at every step */
	double peak, high;   /* bytes, of the stage with most */
	enum vt_card_fit fit;
};

VT_VECTOR_DECLARE(vt_budget_search_sets, struct vt_budget_search_set);

struct vt_budget_search {
	/* Those that fit and are not dearer in everything than another, the cheapest first. */
	struct vt_budget_search_sets sets;
	struct vt_budget_search_set
		nearest; /* the next cheaper one of the first, which does not fit */
	int has_nearest;
	struct vt_budget_search_set least; /* of all that were tried, the one with the least peak */
	/* Changes of which sets were tried; a number of layers is "N". */
	struct vt_change_step considered[VT_BUDGET_SEARCH_MAX_STEPS];
	unsigned nr_considered;
	double step_flops; /* of a whole step without any recomputation */
};

/*
 * `plan` is made, of a step of training, with the device as its gpu.  *budget is zeroed before,
 * vt_budget_search_release() after.
 */
void vt_budget_search_search(struct vt_budget_search *budget, const struct vt_plan *plan);
void vt_budget_search_release(struct vt_budget_search *budget);

/* Makes the changes of a set.  0, or -1 where one of them makes no sense. */
int vt_budget_search_apply(struct vt_plan_settings *settings,
			   const struct vt_budget_search_set *set);

#endif
