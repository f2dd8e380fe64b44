/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NEXT_PASSES_H
#define VT_ANALYZER_NEXT_PASSES_H

/*
 * What each further pass adds, after a request failed in evaluation or in decoding: what is live
 * when the calls of one module begin, one after the other without a backward pass between them.
 * A token adds to the caches, a batch of an evaluation its gathered results.
 */

#include "analyzer/attribution/attribution.h"

struct vt_next_passes {
	uint32_t nr; /* passes in a row that began before the request; 0: they add nothing */
	uint64_t bytes_each;  /* on average, of the last of them */
	uint32_t more;	      /* as many more begin, at most, with the bytes that are free */
	uint8_t is_decoding;  /* each makes a token */
	uint32_t allocation;  /* the largest block that such a pass left */
};

/* `free_bytes`: of the device and of its cache.  `oom` is one of vt_model.ooms. */
void vt_next_passes_find(struct vt_next_passes *next, struct vt_attribution *attribution,
			 const struct vt_out_of_memory *oom, uint64_t free_bytes);

#endif
