/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXTRAPOLATE_PRINT_H
#define VT_ANALYZER_EXTRAPOLATE_PRINT_H

#include <stdio.h>

#include "analyzer/planner/extrapolate.h"
#include "analyzer/planner/gpus.h"

/* `gpu` may be NULL. */
void vt_extrapolate_print_text(const struct vt_extrapolate *x, const struct vt_gpu *gpu, FILE *out);
void vt_extrapolate_print_json(const struct vt_extrapolate *x, const struct vt_gpu *gpu, FILE *out);

#endif
