/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_CACHE_H
#define VT_ANALYZER_FIND_CACHE_H

/*
 * The findings about what PyTorch's allocator reserved in vain, by replay.
 */

#include "analyzer/diagnosis/finding_context.h"

/* What can be played before stages are known; vt_find_cache_detect is quicker then. */
void vt_find_cache_prepare(struct vt_traces *traces, int device);
void vt_find_cache_detect(struct vt_finding_context *context);

#endif
