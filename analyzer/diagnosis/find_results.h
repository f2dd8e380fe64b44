/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_RESULTS_H
#define VT_ANALYZER_FIND_RESULTS_H

/*
 * The finding about results of a pass, or of a generation, that are still there in the next one.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_results_detect(struct vt_finding_context *context);

#endif
