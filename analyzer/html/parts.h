/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_PARTS_H
#define VT_ANALYZER_HTML_PARTS_H

/*
 * The recordings of a page of several, each as an element that waits until it is looked at: with
 * all that a page of it alone has.  A page has as many as fit into a few megabytes.
 */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/html/html_options.h"

struct vt_part {
	const char *file;  /* borrowed */
	const char *label; /* "rank 3", "base"; borrowed */
	char *text;        /* NULL: left out, or not readable */
};

struct vt_parts {
	const struct vt_html_options *options;
	struct vt_part *items; /* the most relevant first: those are kept before others */
	uint32_t nr;
	uint32_t nr_shown; /* that the page has */
};

/* Reads `nr` recordings, each in a separate process; `items` are copied. */
void vt_parts_init(struct vt_parts *parts, const struct vt_html_options *options,
		   const struct vt_part *items, uint32_t nr);
void vt_parts_release(struct vt_parts *parts);

/* The element that they are looked at in, how to choose one, and what was left out. */
void vt_parts_print(const struct vt_parts *parts, FILE *out);

#endif
