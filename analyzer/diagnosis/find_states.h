/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_STATES_H
#define VT_ANALYZER_FIND_STATES_H

/*
 * The findings about what stays from step to step: buffers, weights, gradients, optimizer states.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_states_detect(struct vt_finding_context *context);

#endif
