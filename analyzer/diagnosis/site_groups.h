/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SITE_GROUPS_H
#define VT_ANALYZER_SITE_GROUPS_H

/*
 * Allocations that outlived a moment, by the place in the program that made them, each place with
 * its births and deaths in order.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"
#include "analyzer/model/timeline.h"

struct vt_site_groups {
	uint32_t nr;
	uint32_t *by_allocation; /* group, VT_NO_INDEX: in none */
	uint32_t *first;	 /* by group: its first moment; entry nr ends */
	struct vt_moment *moments; /* births and deaths only, by group, then in order */
};

/*
 * Of the allocations with an owner on `device` (VT_WHEN_ALL_DEVICES: any) that were alive at one
 * of the `nr_ends` events, which ascend.
 */
void vt_site_groups_init(struct vt_site_groups *groups, const struct vt_timeline *timeline,
			 const struct vt_describe *describe, int device, const int64_t *ends,
			 uint32_t nr_ends);
void vt_site_groups_release(struct vt_site_groups *groups);

#endif
