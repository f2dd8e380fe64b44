/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_ACTIVATIONS_H
#define VT_ANALYZER_FIND_ACTIVATIONS_H

/*
 * The findings about what a pass leaves behind: for its backward pass, or by mistake.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_activations_detect(struct vt_finding_context *context);

#endif
