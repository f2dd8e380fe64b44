/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_GROWTH_H
#define VT_ANALYZER_FIND_GROWTH_H

/* The finding about what each iteration leaves: what leaks.h calls growth. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_growth_detect(struct vt_finding_context *context);

#endif
