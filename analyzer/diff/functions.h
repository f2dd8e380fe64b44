/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FUNCTIONS_H
#define VT_ANALYZER_FUNCTIONS_H

/*
 * The functions of two recordings, and which of them is which: those of one name in one file; of
 * what is left, those through which mostly the same blocks went.  The latter were renamed, or moved
 * to another file or class.
 */

#include <stdint.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/clues.h"
#include "analyzer/model/describe.h"

/* A function under two names. */
struct vt_function_move {
	uint32_t codes[2];
};

VT_VECTOR_DECLARE(vt_function_moves, struct vt_function_move);

struct vt_functions {
	uint32_t *of_code[2]; /* numbers, equal for the same function, by id of a code */
	uint32_t nr;          /* the highest of the numbers */
	struct vt_function_moves moves;
};

/* Entry 0 is the base, 1 the new one.  `is_exact`: by their whole paths and names only. */
void vt_functions_init(struct vt_functions *functions, const struct vt_describe *const *sides,
		       const struct vt_clues *const *clues, int is_exact);
void vt_functions_release(struct vt_functions *functions);

#endif
