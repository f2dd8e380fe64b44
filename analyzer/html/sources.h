/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_SOURCES_H
#define VT_ANALYZER_HTML_SOURCES_H

/*
 * The text of source lines, where the file is on this machine and older than the recording.  A
 * recording can come from anywhere and a page may be passed on: only Python files are opened.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"

struct vt_source_file;

struct vt_sources {
	const struct vt_model *model;
	struct vt_source_file *files; /* by code's file name */
	uint32_t nr_files;
	int64_t start_s; /* of the recording; 0: not known */
};

void vt_sources_init(struct vt_sources *sources, const struct vt_model *model);
void vt_sources_release(struct vt_sources *sources);

/* The line of a Python frame without its indentation; NULL: not there.  Free(). */
char *vt_sources_line(struct vt_sources *sources, uint32_t python_frame);
/* That of the first of vt_producer_lines(); NULL, too, where it is a native frame. */
char *vt_sources_made(struct vt_sources *sources, const struct vt_describe *describe,
		      const struct vt_allocation *a);

#endif
