/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CLUES_H
#define VT_ANALYZER_CLUES_H

/*
 * What is known of the blocks that went through a line, whatever it is called and wherever it
 * stands: evidence for which lines of two versions of a program are the same one.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

enum vt_clue_level {
	VT_CLUE_EXACT, /* operator, module, owner and bytes */
	VT_CLUE_LOOSE, /* without the bytes */
	VT_CLUE_MADE,  /* operator and module */
	VT_CLUE_OWNER,
	VT_NR_CLUE_LEVELS
};

/* That a block with this evidence went through this Python frame. */
struct vt_clue {
	uint64_t of[VT_NR_CLUE_LEVELS];
	uint32_t frame;
};

VT_VECTOR_DECLARE(vt_clues, struct vt_clue);

/* The different clues of one line or function, each level sorted. */
struct vt_clue_set {
	uint64_t *of[VT_NR_CLUE_LEVELS];
	uint32_t nr[VT_NR_CLUE_LEVELS];
	uint64_t all; /* stands for those of VT_CLUE_EXACT; 0: there is none */
};

#define VT_CLUE_NO_GROUP UINT32_MAX

/* Sets the zeroed `sets`, one for each group, from the group of each clue. */
void vt_clue_sets_init(struct vt_clue_set *sets, const struct vt_clues *all,
		       const uint32_t *groups);
void vt_clue_set_release(struct vt_clue_set *set);

/* Which part of the clues of both are clues of each, 0 to 1. */
double vt_clue_set_likeness(const struct vt_clue_set *a, const struct vt_clue_set *b,
			    enum vt_clue_level level);

#endif
