/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SCALED_RUN_PRINT_H
#define VT_ANALYZER_SCALED_RUN_PRINT_H

#include <stdio.h>

#include "analyzer/planner/gpus.h"
#include "analyzer/planner/scaled_run.h"

/* `gpu` may be NULL. */
void vt_scaled_run_print_text(const struct vt_scaled_run *x, const struct vt_gpu *gpu, FILE *out);
void vt_scaled_run_print_json(const struct vt_scaled_run *x, const struct vt_gpu *gpu, FILE *out);

#endif
