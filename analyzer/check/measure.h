/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MEASURE_H
#define VT_ANALYZER_MEASURE_H

/*
 * What a run took of something that is limited: one figure per limit and device, with the moment at
 * which it was highest.
 */

#include <stdint.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/check/budget.h"
#include "analyzer/diagnosis/findings.h"
#include "analyzer/report/leaks_report.h"

struct vt_measure {
	struct vt_analysis *analysis;
	struct vt_describe describe;
	int64_t first_event; /* what is looked at: all, or from one mark to another */
	int64_t last_event;
	int is_window;
	/* Of the device looked at last; asked for where a limit needs them. */
	struct vt_leaks_report leaks;
	struct vt_findings findings;
	int has_leaks;
	int has_findings;
	int device;
};

struct vt_figure {
	uint64_t value; /* vt_budget_unit says of what */
	int64_t event;	/* when it was highest; 0: no one moment */
	char *why;	/* NULL, or why there is no figure: to be freed */
};

/*
 * `from` and `to` name marks, NULL: begin and end of the recording.  Returns 0, or -1 with `diag`
 * filled: no such mark, or not in this order.  vt_measure_release in both cases; `analysis` must
 * outlive it.
 */
int vt_measure_init(struct vt_measure *measure, struct vt_analysis *analysis, const char *from,
		    const char *to, struct vt_diag *diag);
void vt_measure_release(struct vt_measure *measure);

void vt_measure_take(struct vt_measure *measure, const struct vt_limit *limit, int device,
		     struct vt_figure *figure);

/* Whether the limit counts that allocation (index) among its bytes. */
int vt_measure_is_counted(const struct vt_measure *measure, const struct vt_limit *limit,
			  uint32_t allocation);
/* Whether this run has bytes of that owner or below, or its rules could give them. */
int vt_measure_has_owner(const struct vt_measure *measure, const char *owner);

#endif
