/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MOVES_H
#define VT_ANALYZER_MOVES_H

/*
 * Which code has another name in the new run of a comparison, or stands in another file or class,
 * with what is live through it.  A block may count in several.
 */

#include "analyzer/diff/places.h"

struct vt_change_move {
	char *from, *to; /* "train.py Model.body" */
	uint64_t bytes;
	uint32_t blocks;
};

struct vt_moves {
	struct vt_change_move *items; /* the most bytes first */
	uint32_t nr;
};

/* Into a zeroed list. */
void vt_moves_init(struct vt_moves *moves, const struct vt_places *places);
void vt_moves_release(struct vt_moves *moves);

#endif
