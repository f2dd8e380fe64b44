/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_HEAD_H
#define VT_ANALYZER_HTML_HEAD_H

/*
 * What a page says without a script: the run, the answer (what took most, when, which line), the
 * owners, the findings.
 */

#include <stdio.h>

#include "analyzer/html/sources.h"
#include "analyzer/report/report.h"

struct vt_page_head {
	const struct vt_report *report;
	struct vt_sources *sources;
	FILE *out;
};

void vt_page_head_title(const struct vt_page_head *head);
void vt_page_head_run(const struct vt_page_head *head);
void vt_page_head_answer(const struct vt_page_head *head);
void vt_page_head_owners(const struct vt_page_head *head);
void vt_page_head_findings(const struct vt_page_head *head);

#endif
