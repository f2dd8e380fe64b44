/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDING_LIST_H
#define VT_ANALYZER_RECORDING_LIST_H

/*
 * The recordings of a folder that are not ranks of one run: one line each, by their starts.
 */

#include <stdio.h>

#include "analyzer/ranks/ranks_runs.h"

void vt_recording_list_text(const struct vt_ranks_runs *runs, const char *folder, FILE *out);
void vt_recording_list_json(const struct vt_ranks_runs *runs, const char *folder, FILE *out);

#endif
