/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXTRAPOLATION_PRINT_H
#define VT_ANALYZER_EXTRAPOLATION_PRINT_H

#include <stdio.h>

#include "analyzer/planner/gpus.h"
#include "analyzer/planner/extrapolation.h"

/* `gpu` may be NULL. */
void vt_extrapolation_print_text(const struct vt_extrapolation *x, const struct vt_gpu *gpu,
				 FILE *out);
void vt_extrapolation_print_json(const struct vt_extrapolation *x, const struct vt_gpu *gpu,
				 FILE *out);

#endif
