/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_RECORDING_H
#define VT_ANALYZER_HTML_RECORDING_H

/*
 * One recording's part of a page: what it says without a script, the elements that the script
 * fills, and the data behind them.
 */

#include <stdio.h>

#include "analyzer/html/moments.h"
#include "analyzer/html/sources.h"
#include "analyzer/report/leaks_report.h"
#include "analyzer/report/report.h"

struct vt_page_recording_options {
	const char *path;
	const char *rules; /* NULL: built in */
	const char *when;  /* what is looked at first; NULL: what matters most */
	int has_all_frames;
	const char *heading; /* the element that names the program: "h1", "h2" */
};

struct vt_page_recording {
	const struct vt_page_recording_options *options; /* must outlive it */
	struct vt_analysis analysis;
	struct vt_report_options report_options;
	struct vt_report report;
	struct vt_leaks_report leaks;
	struct vt_sources sources;
	struct vt_series series;
	struct vt_page_moments moments;
};

/* 0, or -1 with `diag` filled: not readable, no such moment.  Then there is nothing to close. */
int vt_page_recording_open(struct vt_page_recording *recording,
			   const struct vt_page_recording_options *options, struct vt_diag *diag);
void vt_page_recording_close(struct vt_page_recording *recording);

/* "train.py"; free(). */
char *vt_page_recording_program(const struct vt_page_recording *recording);

/* The run in a separate header, and the sections. */
void vt_page_recording_print(struct vt_page_recording *recording, FILE *out);
/* 0, or -1: it cannot be packed, or `out` has an error. */
int vt_page_recording_print_data(struct vt_page_recording *recording, FILE *out);

#endif
