/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_WARN_H
#define VT_ANALYZER_REPORT_WARN_H

/*
 * What of a run came too near to the size of its device (`vtrace report --warn`): the highest use,
 * and the stages and steps whose own highest use is above a share of all there is.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/report/report.h"

/* 0, or -1: no share above 0 and up to 1 ("0.85", "85%"). */
int vt_report_warn_parse(const char *text, double *share);

/* A line per device, also where nothing is above; nothing for share 0. */
void vt_report_warn_print(const struct vt_report *report, FILE *out);
/* null for share 0. */
json_t *vt_report_warn_json(const struct vt_report *report);

#endif
