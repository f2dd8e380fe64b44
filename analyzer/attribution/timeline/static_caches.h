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

struct vt_static_caches {
	struct vt_map modules; /* { module, 0, 0 } */
	struct vt_map places;  /* of their blocks: { Python stack, 0, 0 } -> bytes */
};

void vt_static_caches_init(struct vt_static_caches *caches, const struct vt_model *model,
			   const struct vt_passes *passes);
void vt_static_caches_release(struct vt_static_caches *caches);

int vt_static_caches_has(const struct vt_static_caches *caches, uint64_t module);
/* Whether the place that made it made such a block, for whichever prompt. */
int vt_static_caches_is_block(const struct vt_static_caches *caches, const struct vt_allocation *a);

/* The end of the calls that make the tokens of one prompt, which the call at `position` reads. */
uint32_t vt_static_caches_find_row(const struct vt_carried_tensors *carried, uint32_t position);

#endif
