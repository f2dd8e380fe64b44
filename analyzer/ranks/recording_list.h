/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDING_LIST_H
#define VT_ANALYZER_RECORDING_LIST_H

/*
 * The recordings of a folder that are not ranks of one run: one line each, by their starts.
 */

#include <stdio.h>

#include "analyzer/ranks/ranks_runs.h"

/* Those that can be read, by their starts; free(). */
const struct vt_rank **vt_recording_list_sorted(const struct vt_ranks_runs *runs, uint32_t *nr);

void vt_recording_list_text(const struct vt_ranks_runs *runs, const char *folder, FILE *out);
void vt_recording_list_json(const struct vt_ranks_runs *runs, const char *folder, FILE *out);

#endif
