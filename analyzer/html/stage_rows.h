/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_STAGE_ROWS_H
#define VT_ANALYZER_HTML_STAGE_ROWS_H

/* The table of stages, as HTML that needs no script; steps are drawn by it. */

#include <stdio.h>

#include "analyzer/report/report.h"

void vt_stage_rows_print(const struct vt_report *report, FILE *out);

#endif
