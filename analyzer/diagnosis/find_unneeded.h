/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_UNNEEDED_H
#define VT_ANALYZER_FIND_UNNEEDED_H

/* Optimizer states of what is no longer trained. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_unneeded_detect(struct vt_finding_context *context);

#endif
