/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BLOCKS_H
#define VT_ANALYZER_BLOCKS_H

/*
 * The list behind `vtrace blocks`: what is live at one moment, largest first.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/model/describe.h"

struct vt_blocks_options {
	const char *when; /* when.h */
	int device;       /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	int has_segments; /* list driver memory that holds blocks, too */
	int has_all_frames;
};

struct vt_blocks {
	struct vt_analysis *analysis;
	struct vt_describe describe;
	int64_t event;
	uint32_t *allocations; /* indices */
	uint32_t nr;
};

/*
 * Returns 0, or -1 with `diag` filled; vt_blocks_release in both cases.  `analysis` must outlive
 * it.
 */
int vt_blocks_init(struct vt_blocks *blocks, struct vt_analysis *analysis,
		   const struct vt_blocks_options *options, struct vt_diag *diag);
void vt_blocks_release(struct vt_blocks *blocks);

/* One allocation as it stands in the list; the caller gives it back. */
json_t *vt_blocks_json(struct vt_blocks *blocks, uint32_t allocation);
/* {"event": ..., "time_ns": ...} */
json_t *vt_blocks_moment_json(const struct vt_blocks *blocks);
/* The word for its kind: "block", "segment", ... */
const char *vt_blocks_kind(const struct vt_allocation *a);

void vt_blocks_print_text(struct vt_blocks *blocks, FILE *out);
void vt_blocks_print_json(struct vt_blocks *blocks, FILE *out);

#endif
