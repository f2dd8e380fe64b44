/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALIGNMENT_H
#define VT_ANALYZER_ALIGNMENT_H

/*
 * Which places in the source of two recordings are the same one.  Between two runs files move,
 * lines are inserted, functions get other names, and the libraries lie in other directories: a file
 * is the same if it has the same path below the program's or the packages' folder, or else many
 * functions of the same names (files.h); functions and lines are found by their names and by the
 * blocks that went through them (functions.h, line_match.h).
 *
 * Frames that are the same place have the same number in both recordings.
 */

#include <stdint.h>

#include "analyzer/diff/clues.h"
#include "analyzer/diff/functions.h"
#include "analyzer/model/describe.h"

enum { VT_DIFF_BASE, VT_DIFF_NEW, VT_DIFF_SIDES };

struct vt_alignment {
	struct vt_functions all;
	/* By id of a Python frame. */
	uint32_t *lines[VT_DIFF_SIDES];
	uint32_t *functions[VT_DIFF_SIDES]; /* the same for all lines of one */
	/* By id of a native frame: library and symbol, wherever in it. */
	uint32_t *symbols[VT_DIFF_SIDES];
};

/* `is_exact`: equal paths and equal line numbers only. */
void vt_alignment_init(struct vt_alignment *alignment, const struct vt_describe *const *sides,
		       const struct vt_clues *const *clues, int is_exact);
void vt_alignment_release(struct vt_alignment *alignment);

#endif
