/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_RANK_ROWS_H
#define VT_ANALYZER_HTML_RANK_ROWS_H

/* The recordings of a folder as a table that needs no script; the script shades its cells. */

#include <stdio.h>

#include "analyzer/ranks/ranks.h"
#include "analyzer/ranks/recording_list.h"

/* The header of a page of ranks, then ranks by owners. */
void vt_rank_rows_print(const struct vt_ranks *ranks, FILE *out);
/* The same of recordings that are not of one start: a line each. */
void vt_rank_rows_print_list(const struct vt_ranks *ranks, const struct vt_rank *const *rows,
			     uint32_t nr, FILE *out);

#endif
