/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_ROWS_H
#define VT_ANALYZER_HTML_ROWS_H

/*
 * The blocks of a page, each once: those that are live at one of its moments, above a size that
 * keeps them few, and those that took most bytes over most time, for the view of lifetimes.  What a
 * moment has besides is added up by owner and stack, so that sums are those of the report.
 */

#include "analyzer/html/moments.h"
#include "analyzer/html/stacks.h"

/* Live blocks of one moment, owner and stack that are too small for rows. */
struct vt_page_rest {
	uint32_t moment;
	uint32_t owner;
	uint32_t python;
	uint32_t native;
	uint64_t bytes;
	uint32_t blocks;
};

struct vt_page_rows {
	const struct vt_page_moments *moments;
	uint64_t least_bytes;         /* of the rows that a moment has */
	VT_VECTOR(uint32_t) all;      /* allocations, in order */
	VT_VECTOR(struct vt_page_rest) rest;
	uint8_t *is_lifetime; /* by row */
	uint32_t nr_lifetimes;
	uint32_t nr_blocks;   /* of the whole recording, that a lifetime could be shown of */
	double area;          /* bytes times events of all of them */
	double lifetime_area; /* ... and of those that are shown */
};

void vt_page_rows_init(struct vt_page_rows *rows, const struct vt_page_moments *moments,
		       struct vt_page_stacks *stacks);
void vt_page_rows_release(struct vt_page_rows *rows);

/* Columns of `pack`, and what they mean in `object`. */
void vt_page_rows_json(const struct vt_page_rows *rows, struct vt_page_stacks *stacks,
		       struct vt_pack *pack, json_t *object);

#endif
