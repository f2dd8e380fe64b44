/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_H
#define VT_ANALYZER_HTML_H

/*
 * One offline page of a recording, of two or of a folder of them (`vtrace html`): what a report
 * says as HTML, and the data behind the drawings of analyzer/page/, which the build puts into the
 * command.
 */

#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/html/html_options.h"

/* 0, or -1 with `diag` filled: this command was built without the page. */
int vt_html_check(struct vt_diag *diag);

/*
 * 0, or -1 with `diag` filled: not readable, there is no such moment or run.  What could not be
 * written is an error of `out`.
 */
int vt_html_print(const struct vt_html_options *options, FILE *out, struct vt_diag *diag);

#endif
