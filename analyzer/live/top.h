/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_TOP_H
#define VT_ANALYZER_LIVE_TOP_H

/*
 * What is in use now, as lines of text for a screen of 80 columns: of one recording its owners and
 * the places that grew, of a folder a line for each recording.
 */

#include <stdio.h>

#include "analyzer/live/look.h"
#include "analyzer/live/top_options.h"

/* `path`: of the recording or the folder, as the user named it. */
void vt_top_print(struct vt_look *look, const char *path, const struct vt_top_options *options,
		  FILE *out);

#endif
