/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_WEIGHTS_H
#define VT_ANALYZER_FIND_WEIGHTS_H

/* Weights and optimizer states that are on the device a second time, through a loaded file. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_weights_detect(struct vt_finding_context *context);

#endif
