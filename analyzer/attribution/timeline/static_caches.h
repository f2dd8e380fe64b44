/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STATIC_CACHES_H
#define VT_ANALYZER_STATIC_CACHES_H

/*
 * Modules with caches of a fixed size: each call writes in place into blocks that were there before
 * it, at least two of one size (keys and values), and then computes with them.  Nothing is handed
 * over and nothing grows (carried_tensors.h), so only the operators that were observed show it;
 * what one call of a module does the others do.
 */

#include "analyzer/attribution/timeline/carried_tensors.h"
#include "analyzer/attribution/timeline/passes.h"
#include "analyzer/base/map.h"

/* Puts { module, 0, 0 } -> 1 for each. */
void vt_static_caches_find(const struct vt_model *model, const struct vt_passes *passes,
			   struct vt_map *modules);

/* The end of the calls that make the tokens of one prompt, which the call at `position` reads. */
uint32_t vt_static_caches_find_row(const struct vt_carried_tensors *carried, uint32_t position);

#endif
