/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_LEAK_ROWS_H
#define VT_ANALYZER_HTML_LEAK_ROWS_H

/* What piles up (`vtrace leaks`), as HTML that needs no script. */

#include <stdio.h>

#include "analyzer/html/sources.h"
#include "analyzer/report/leaks_report.h"

/* Nothing where no place grows or keeps anything. */
void vt_leak_rows_print(const struct vt_leaks_report *report, struct vt_sources *sources,
			FILE *out);

#endif
