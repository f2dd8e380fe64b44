/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_GROWTH_H
#define VT_ANALYZER_FIND_GROWTH_H

/* The finding about what each iteration leaves: what leaks.h calls growth. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_growth_detect(struct vt_finding_context *context);
/*
 * Once all findings of the device are there.  What piles up is alive in the next pass, too.  Growth
 * knows who holds it and for how long, so the same bytes of the same line are not told again as
 * results of the last pass.
 */
void vt_find_growth_drop_told(struct vt_finding_context *context);

#endif
