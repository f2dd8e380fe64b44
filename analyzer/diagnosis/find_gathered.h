/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_GATHERED_H
#define VT_ANALYZER_FIND_GATHERED_H

/*
 * The finding about results of an evaluation that are gathered on the device: each pass leaves a
 * block, and all of them go together before training continues.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_gathered_detect(struct vt_finding_context *context);

#endif
