/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_TOP_H
#define VT_ANALYZER_LIVE_TOP_H

/*
 * What is in use now, as lines of text for a screen of 80 columns: of one recording its owners and
 * the places that grew, of a folder a line for each recording.
 */

#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/live/top_options.h"

/* 0, or -1 with `diag` filled.  Sets *is_running: a program may still record. */
int vt_top_print(const char *path, const struct vt_top_options *options, int *is_running, FILE *out,
		 struct vt_diag *diag);

#endif
