/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATOR_H
#define VT_ANALYZER_ALLOCATOR_H

/*
 * PyTorch's caching allocator for one device, request by request: c10/cuda/CUDACachingAllocator.cpp
 * of 2.6 to 2.15 as a model.  vt_pools_init and vt_pools_release begin and end it.
 *
 * A request is rounded, served by the smallest free piece of its stream and pool that is large
 * enough (the one that can grow least, where segments are expandable), else by a new segment; when
 * the driver has none, cached memory goes back and it is tried again.
 *
 * Not modelled: memory that another stream was told to be using (record_stream) and that waits for
 * it.  PyTorch reports such a block as free at once; until when it waits is recorded nowhere.
 */

#include "analyzer/replay/pools.h"

/* NULL: out of memory.  The piece is the allocator's until it is given back. */
struct vt_piece *vt_allocator_take(struct vt_pools *pools, uint64_t request_bytes, uint32_t stream,
				   uint32_t pool_number);

/* Of a piece that was taken and not given back since; ends the program where it was. */
void vt_allocator_give(struct vt_pools *pools, struct vt_piece *piece);

/* torch.cuda.empty_cache(): gives back what is wholly free. */
void vt_allocator_empty_cache(struct vt_pools *pools);

#endif
