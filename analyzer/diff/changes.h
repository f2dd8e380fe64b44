/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHANGES_H
#define VT_ANALYZER_CHANGES_H

/*
 * What is live on one device at one moment of each of two recordings, by the place that made it,
 * side by side.
 */

#include <stdint.h>

#include "analyzer/diff/live.h"
#include "analyzer/diff/moves.h"

/* One place in both runs; 0 bytes on the side where it is not. */
struct vt_change {
	uint64_t bytes[VT_DIFF_SIDES];
	uint64_t asked_bytes[VT_DIFF_SIDES]; /* as of the blocks */
	uint32_t blocks[VT_DIFF_SIDES];
	/* Of the largest allocation there; owners are borrowed. */
	const char *owner[VT_DIFF_SIDES];
	uint32_t allocation[VT_DIFF_SIDES]; /* VT_NO_INDEX: none */
	uint64_t largest[VT_DIFF_SIDES];    /* its bytes */
	uint64_t noise_bytes; /* between the recordings of a side (noise.h) */
	char *name; /* by module or file; NULL: not known there, or by stack */
};

struct vt_changes {
	enum vt_changes_by by;
	struct vt_change *items; /* those that differ, the largest difference first */
	uint32_t nr;
	uint32_t nr_equal; /* places with as many bytes in both */
	struct vt_moves moves;
};

/* `live`: of both sides, gathered by the same `by`.  `is_exact`: only equal lines match. */
void vt_changes_init(struct vt_changes *changes, const struct vt_changes_side *sides,
		     const struct vt_changes_live *const *live, enum vt_changes_by by,
		     int is_exact);
void vt_changes_release(struct vt_changes *changes);

#endif
