/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_COMPARISON_H
#define VT_ANALYZER_HTML_COMPARISON_H

/* Pages of several recordings: two that are compared, or a folder of them. */

#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/html/html_options.h"

/* 0, or -1 with `diag` filled, as vt_html_print. */
int vt_comparison_print_pair(const struct vt_html_options *options, FILE *out,
			     struct vt_diag *diag);
int vt_comparison_print_folder(const struct vt_html_options *options, FILE *out,
			       struct vt_diag *diag);

#endif
