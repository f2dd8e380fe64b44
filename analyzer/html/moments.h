/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_MOMENTS_H
#define VT_ANALYZER_HTML_MOMENTS_H

/*
 * The moments that a page shows in full: peaks, failed requests, marks, ends of stages, one per
 * step as far as there is room, on each device.
 */

#include "analyzer/html/series.h"
#include "analyzer/report/report.h"

struct vt_page_moment {
	int64_t event;
	const struct vt_device *device;
	VT_VECTOR(char *) names; /* "most allocated", "end of forward" */
	unsigned rank;           /* 0: never left out */
	VT_VECTOR(uint32_t) live; /* allocations, driver memory that holds blocks too */
};

struct vt_page_moments {
	struct vt_analysis *analysis;
	VT_VECTOR(struct vt_page_moment) all; /* by device, then event */
	uint32_t first_shown;                 /* the one to look at first */
	uint32_t nr_left_out;
};

/*
 * `when` (moments.h of attribution/, or NULL) is looked at first.  0, or -1 with `diag` filled:
 * there is no such moment.  vt_page_moments_release in both cases.
 */
int vt_page_moments_init(struct vt_page_moments *moments, const struct vt_series *series,
			 const struct vt_report *report, const char *when, struct vt_diag *diag);
void vt_page_moments_release(struct vt_page_moments *moments);

#endif
