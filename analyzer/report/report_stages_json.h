/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_STAGES_JSON_H
#define VT_ANALYZER_REPORT_STAGES_JSON_H

/*
 * The parts of the JSON report that say when.
 */

#include <jansson.h>

#include "analyzer/report/report.h"

/* Adds "stages" or "marks", "steps", "first_steps", "generations" and "calls". */
void vt_report_stages_json_add(const struct vt_report *report, json_t *object);

#endif
