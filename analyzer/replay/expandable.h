/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXPANDABLE_H
#define VT_ANALYZER_EXPANDABLE_H

/*
 * Expandable segments: per stream and half of a pool, address space for more than the whole device,
 * backed by granules of memory where blocks need them.
 */

#include "analyzer/replay/pools.h"

/*
 * A free piece of at least `size_bytes`, at the lowest address where memory can be added for it;
 * it is in no set.  NULL where the device has not enough left (what was mapped on the way stays
 * mapped, as there).
 */
struct vt_piece *vt_expandable_grow(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
				    uint64_t size_bytes);

/* Gives back the granules that lie wholly inside a free piece; the segment too, if that was all. */
void vt_expandable_shrink(struct vt_pools *pools, struct vt_piece *piece);

#endif
