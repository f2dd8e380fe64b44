/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PAGE_H
#define VT_ANALYZER_PAGE_H

/* Writing the page of a recording (html/html.h), whichever command is asked for it. */

#include <stdint.h>

#include "analyzer/base/diag.h"

struct vt_page_request {
	const char *path;   /* of the recording, or a folder of them */
	const char *base;   /* the recording to compare with; NULL: none */
	const char *output; /* NULL: beside it, run.html of run.db */
	const char *when;   /* what is looked at first; NULL: what matters most */
	const char *rules;  /* NULL: built in */
	uint32_t run;       /* of a folder's; 0: the last of those with most ranks */
	int has_all_frames;
	int is_forced; /* replaces a file */
};

/* Where it goes; free(). */
char *vt_page_output(const struct vt_page_request *request);

/*
 * Before anything is read: whether this command has a page, and the output may be written.  0, or
 * -1 with `diag` filled, as the next.
 */
int vt_page_check(const struct vt_page_request *request, struct vt_diag *diag);
int vt_page_write(const struct vt_page_request *request, struct vt_diag *diag);

#endif
