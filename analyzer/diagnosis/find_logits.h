/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_LOGITS_H
#define VT_ANALYZER_FIND_LOGITS_H

/*
 * The findings about the output of the vocabulary head and what the loss makes of it.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_logits_detect(struct vt_finding_context *context);

#endif
