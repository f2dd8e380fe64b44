/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECLAIM_H
#define VT_ANALYZER_RECLAIM_H

/* The three ways in which the caching allocator gives segments back to the driver. */

#include "analyzer/replay/pools.h"

/* Old whole segments, when more than the threshold is reserved: before a new segment is taken. */
void vt_reclaim_old(struct vt_pools *pools);

/*
 * Under max_split_size_mb, after the driver said no: just enough of the unsplittable pieces of this
 * stream for the request.  Returns whether that may have been enough.
 */
int vt_reclaim_oversize(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
			uint64_t size_bytes);

/* Everything that is wholly free: empty_cache(), and the last resort before an out-of-memory. */
void vt_reclaim_all(struct vt_pools *pools);

#endif
