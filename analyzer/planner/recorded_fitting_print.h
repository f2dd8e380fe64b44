/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDED_FITTING_PRINT_H
#define VT_ANALYZER_RECORDED_FITTING_PRINT_H

#include <stdio.h>

#include "analyzer/planner/recorded_fitting.h"

void vt_recorded_fitting_print_text(const struct vt_recorded_fitting *fitting, FILE *out);
void vt_recorded_fitting_print_json(const struct vt_recorded_fitting *fitting, FILE *out);

#endif
