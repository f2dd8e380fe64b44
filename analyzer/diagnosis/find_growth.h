/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_GROWTH_H
#define VT_ANALYZER_FIND_GROWTH_H

/* The finding about what turns leave behind, one after the other: what leaks.h calls growth. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_growth_detect(struct vt_finding_context *context);

#endif
