/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_TRACK_H
#define VT_ANALYZER_HTML_TRACK_H

/* What is drawn along the axis of time: stages, steps; and peaks, failures, marks as flags. */

#include <jansson.h>

#include "analyzer/report/analysis.h"

/* Sets "spans", "flags" and how many of each were left out. */
void vt_track_json(struct vt_analysis *analysis, json_t *object);

#endif
