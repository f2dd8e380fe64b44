/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CARD_TABLE_H
#define VT_ANALYZER_CARD_TABLE_H

/* The table at the end of `estimate` and of `estimate --run`: which cards it fits. */

#include <stdio.h>

#include "analyzer/planner/gpus.h"

/* One card. */
struct vt_card_row {
	char name[64];
	double usable_bytes;
	double headroom_bytes; /* negative: what it lacks */
	const char *verdict;
	char note[64];
};

/* Fills the row of a zeroed one. */
typedef void (*vt_card_row_fn)(const void *of, const struct vt_gpu *gpu, struct vt_card_row *row);

/* `only`: that card alone; NULL: every known one. */
void vt_card_table_print(const struct vt_gpu *only, vt_card_row_fn fill, const void *of, FILE *out);

#endif
