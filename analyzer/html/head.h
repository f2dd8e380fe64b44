/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_HEAD_H
#define VT_ANALYZER_HTML_HEAD_H

/*
 * What a page says without a script: the run, the owners, the findings.  What took most memory,
 * when and which line: answer.h.
 */

#include <stdio.h>

#include "analyzer/diagnosis/leaks.h"
#include "analyzer/html/sources.h"
#include "analyzer/report/report.h"

struct vt_page_head {
	const struct vt_report *report;
	const struct vt_leaks *leaks;
	struct vt_sources *sources;
	FILE *out;
	const char *heading; /* the element that names the program */
};

/* "train.py"; free(). */
char *vt_page_head_program(const struct vt_report *report);

void vt_page_head_run(const struct vt_page_head *head);
void vt_page_head_owners(const struct vt_page_head *head);
void vt_page_head_findings(const struct vt_page_head *head);

#endif
