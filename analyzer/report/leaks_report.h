/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LEAKS_REPORT_H
#define VT_ANALYZER_LEAKS_REPORT_H

/*
 * What a recording says of leaks, as text and as JSON (`vtrace leaks`), with what it cannot say.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/diagnosis/leaks.h"

struct vt_leaks_report {
	struct vt_analysis *analysis;
	struct vt_leaks leaks;
	char *ended;
	struct vt_lines notes; /* what is not known, and why; a line each */
	unsigned top;
};

struct vt_leaks_report_options {
	int device; /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	int has_all_frames;
	unsigned top; /* rows of each table, in text */
};

/* Returns 0, or -1 with `diag` filled; vt_leaks_report_release in both cases. */
int vt_leaks_report_init(struct vt_leaks_report *report, struct vt_analysis *analysis,
			 const struct vt_leaks_report_options *options, struct vt_diag *diag);
void vt_leaks_report_release(struct vt_leaks_report *report);

/* What all growth together adds per iteration, rounded. */
uint64_t vt_leaks_report_growth(const struct vt_leaks_report *report);

void vt_leaks_report_print_text(struct vt_leaks_report *report, FILE *out);
/* What --json prints; the caller gives it back. */
json_t *vt_leaks_report_json(const struct vt_leaks_report *report);
void vt_leaks_report_print_json(struct vt_leaks_report *report, FILE *out);

#endif
