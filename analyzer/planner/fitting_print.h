/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FITTING_PRINT_H
#define VT_ANALYZER_FITTING_PRINT_H

#include <stdio.h>

#include "analyzer/planner/fitting.h"

/* What fits the device of `plan`, which was searched. */
void vt_fitting_print_text(const struct vt_fitting *budget, const struct vt_plan *plan, FILE *out);
void vt_fitting_print_json(const struct vt_fitting *budget, const struct vt_plan *plan, FILE *out);

#endif
