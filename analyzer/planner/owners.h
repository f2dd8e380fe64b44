/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWNERS_H
#define VT_ANALYZER_OWNERS_H

/*
 * Bytes by owner, and the terms of a stage added up so.
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

/* One by one; `owner` is borrowed. */
void vt_owners_add(struct vt_owner_sums *sums, const char *owner, double bytes);
void vt_owners_sort(struct vt_owner_sums *sums);
double vt_owners_find(const struct vt_owner_sums *sums, const char *owner); /* 0: none */

#endif
