/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LINE_MATCH_H
#define VT_ANALYZER_LINE_MATCH_H

/*
 * The lines of one function, seen in two versions of it: which is which, as an edit script.
 *
 * Lines with the same clues are the same line, even where two were swapped.  Between those the
 * order counts: what is likest in operator, owner and bytes is paired, the distance by which the
 * neighbours moved decides between equals, and what is like nothing was put in or taken out.
 */

#include <stdint.h>

#include "analyzer/diff/clues.h"

#define VT_LINE_MATCH_NONE UINT32_MAX

struct vt_match_line {
	int64_t line;
	const struct vt_clue_set *clues; /* of no block: no evidence but its place */
};

/*
 * For each of `nr_base` lines the index of its counterpart among `nr_new`, or VT_LINE_MATCH_NONE.
 * Both lists ascend.
 */
void vt_line_match_find(const struct vt_match_line *base, uint32_t nr_base,
			const struct vt_match_line *new, uint32_t nr_new, uint32_t *counterparts);

#endif
