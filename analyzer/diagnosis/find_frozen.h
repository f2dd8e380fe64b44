/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_FROZEN_H
#define VT_ANALYZER_FIND_FROZEN_H

/*
 * The finding about weights that nothing trains, wider than what the program computes with.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_frozen_detect(struct vt_finding_context *context);

#endif
