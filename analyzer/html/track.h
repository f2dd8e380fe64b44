/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_TRACK_H
#define VT_ANALYZER_HTML_TRACK_H

/* What is drawn along the axis of time: stages, steps; and peaks, failures, marks as flags. */

#include <jansson.h>

#include "analyzer/report/report.h"

/* Sets "spans", "flags" and how many of each were left out. */
void vt_track_json(const struct vt_report *report, json_t *object);

#endif
