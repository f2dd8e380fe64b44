/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_TRACK_H
#define VT_ANALYZER_HTML_TRACK_H

/* What is drawn along the axis of time: stages, steps; and peaks, failures, marks as flags. */

#include <jansson.h>

#include "analyzer/report/report.h"

/*
 * The name of a mark that the page shows; NULL: it shows none.  Ends have their begin's name, and
 * PyTorch's own ranges are evidence of stages.
 */
const char *vt_track_mark(const struct vt_model *model, const struct vt_mark *mark);

/* Sets "spans", "flags" and how many of each were left out. */
void vt_track_json(const struct vt_report *report, json_t *object);

#endif
