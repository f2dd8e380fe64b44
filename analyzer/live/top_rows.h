/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_TOP_ROWS_H
#define VT_ANALYZER_LIVE_TOP_ROWS_H

/*
 * Owners of one device now, against some time ago and step against step; and the places that hold
 * more than then.
 */

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"
#include "analyzer/live/top_options.h"
#include "analyzer/report/hotspots.h"

struct vt_top_row {
	char *owner; /* the first part of its path, or one that no allocation has */
	uint64_t now_bytes, before_bytes;
	uint64_t step_bytes, step_before_bytes; /* after the last two steps that ended */
};

struct vt_top_rows {
	struct vt_books books;	/* now */
	struct vt_top_row *rows; /* largest first */
	size_t nr;
	int has_steps;
	struct vt_describe describe;
	struct vt_hotspots now, before;
};

/* `before_ns`: since the start of the recording; `analysis` must outlive it. */
void vt_top_rows_init(struct vt_top_rows *rows, struct vt_analysis *analysis, int device,
		      int64_t before_ns);
void vt_top_rows_release(struct vt_top_rows *rows);
void vt_top_rows_print(const struct vt_top_rows *rows, const struct vt_top_options *options,
		       FILE *out);

#endif
