/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWNERS_H
#define VT_ANALYZER_OWNERS_H

/*
 * The terms of a stage, added up by owner.
 */

#include "analyzer/planner/plan.h"

struct vt_owner_sum {
	const char *owner;
	double bytes, low, high;
};

VT_VECTOR_DECLARE(vt_owner_sums, struct vt_owner_sum);

/* Largest first; release with vt_vector_release. */
void vt_owners_of_stage(const struct vt_plan *plan, enum vt_plan_stage stage,
			struct vt_owner_sums *sums);

#endif
