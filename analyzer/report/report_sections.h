/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_SECTIONS_H
#define VT_ANALYZER_REPORT_SECTIONS_H

/*
 * The lists of places in the text report, and the unit of its figures.
 */

#include <stdio.h>

#include "analyzer/report/report.h"

/* One unit per report, so that figures can be compared down a column. */
struct vt_report_unit {
	const char *name; /* "GiB" */
	double bytes;
};

struct vt_report_unit vt_report_sections_unit(uint64_t largest_bytes);
#define VT_REPORT_FIGURE_MAX 32
/* "62.97" */
const char *vt_report_sections_figure(char *buf, struct vt_report_unit unit, double bytes);

void vt_report_sections_places(const struct vt_report *report, const struct vt_hotspots *hotspots,
			       struct vt_report_unit unit, FILE *out);
/* Those of them that no rule names. */
void vt_report_sections_unknown(const struct vt_report *report, const struct vt_hotspots *hotspots,
				struct vt_report_unit unit, FILE *out);

#endif
