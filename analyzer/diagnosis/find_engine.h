/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_ENGINE_H
#define VT_ANALYZER_FIND_ENGINE_H

/*
 * What a serving engine's profiling run takes from its cache.  Before the cache is made, such an
 * engine runs its model once with as many tokens and requests as it was told to expect; the most
 * that this allocated is not given to the cache.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_engine_detect(struct vt_finding_context *context);

#endif
