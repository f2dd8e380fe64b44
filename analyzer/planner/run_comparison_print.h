/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RUN_COMPARISON_PRINT_H
#define VT_ANALYZER_RUN_COMPARISON_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "analyzer/planner/run_comparison.h"

void vt_run_comparison_print_text(const struct vt_run_comparison *comparison, FILE *out);
/* The object "against" of --json. */
json_t *vt_run_comparison_print_json(const struct vt_run_comparison *comparison);

#endif
