/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_H
#define VT_ANALYZER_HTML_H

/*
 * One offline page of a recording, of two or of a folder of them (`vtrace html`): what a report
 * says as HTML, and the data behind the drawings of analyzer/page/, which the build puts into the
 * command.
 */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/diag.h"

struct vt_html_options {
	const char *path;  /* a recording, or a folder of them */
	const char *base;  /* the recording to compare with; NULL: none */
	const char *when;  /* moments.h; what is looked at first; NULL: what matters most */
	const char *rules; /* NULL: built in */
	uint32_t run;      /* of a folder's, from 1; 0: the last of those with most ranks */
	int has_all_frames;
};

/* 0, or -1 with `diag` filled: this command was built without the page. */
int vt_html_check(struct vt_diag *diag);

/*
 * 0, or -1 with `diag` filled: not readable, there is no such moment or run.  What could not be
 * written is an error of `out`.
 */
int vt_html_print(const struct vt_html_options *options, FILE *out, struct vt_diag *diag);

#endif
