/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_OPTIONS_H
#define VT_ANALYZER_HTML_OPTIONS_H

/* What a page is asked to be of. */

#include <stdint.h>

struct vt_html_options {
	const char *path;  /* a recording, or a folder of them */
	const char *base;  /* the recording to compare with; NULL: none */
	const char *when;  /* moments.h; what is looked at first; NULL: what matters most */
	const char *rules; /* NULL: built in */
	uint32_t run;      /* of a folder's, from 1; 0: the last of those with most ranks */
	int has_all_frames;
};

#endif
