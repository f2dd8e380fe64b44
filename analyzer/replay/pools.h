/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_POOLS_H
#define VT_ANALYZER_POOLS_H

/*
 * The state of PyTorch's caching allocator for one device: pools of free pieces, the segments they
 * are cut from, and totals.  Every pool number has a large and a small half; number 0 is the
 * program's default, others are private (CUDA graphs, MemPool).
 *
 * allocator.h is what callers use; expandable.h and reclaim.h are the rules that change segments.
 */

#include <stdint.h>

#include "analyzer/base/util.h"
#include "analyzer/replay/card.h"
#include "analyzer/replay/free_set.h"
#include "analyzer/replay/settings.h"

struct vt_pool {
	struct vt_free_set free;
	struct vt_free_set unmapped;
	int64_t nr_searches; /* counted while garbage collection is on: the clock of ages */
	uint8_t is_small;
	uint8_t is_kept; /* private and in use: its segments are never given back */
};

/* An expandable segment: address space for the whole device, memory by the granule. */
struct vt_segment_run {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t granule_bytes;
};

enum vt_segment_op {
	VT_SEGMENT_TAKE,
	VT_SEGMENT_GIVE_BACK,
	VT_SEGMENT_MAP,
	VT_SEGMENT_UNMAP,
};

/* Told of every change of segments, a granule at a time where they are expandable. */
typedef void (*vt_pools_note_fn)(void *context, enum vt_segment_op op, uint64_t address,
				 uint64_t size_bytes);

struct vt_pools {
	struct vt_settings settings;
	struct vt_card *card;               /* the caller's */
	uint64_t device_bytes;              /* what fractions are fractions of */
	VT_VECTOR(struct vt_pool *) halves; /* 2 * number: large, + 1: small */
	VT_VECTOR(struct vt_segment_run *) runs;
	VT_VECTOR(struct vt_piece *) chunks; /* memory of pieces */
	struct vt_piece *spare;              /* through `next` */
	vt_pools_note_fn note;               /* may be NULL */
	void *context;
	uint64_t reserved_bytes;
	uint64_t allocated_bytes;
	uint32_t nr_retries; /* everything cached was given back to serve a request */
};

void vt_pools_init(struct vt_pools *pools, const struct vt_settings *settings, struct vt_card *card,
		   uint64_t device_bytes);
void vt_pools_release(struct vt_pools *pools);

struct vt_pool *vt_pools_half(struct vt_pools *pools, uint32_t number, int is_small);
/* Whether ages are counted and old segments given back. */
int vt_pools_is_collecting(const struct vt_pools *pools);
uint64_t vt_pools_allowed_bytes(const struct vt_pools *pools);

/* A piece with these members and no neighbours, mapped, not allocated, in no set. */
struct vt_piece *vt_pools_piece_new(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
				    uint64_t address, uint64_t size_bytes);
void vt_pools_piece_free(struct vt_pools *pools, struct vt_piece *piece);
/* Cuts the first `size_bytes` off and returns them; `piece` keeps the rest.  Neither in a set. */
struct vt_piece *vt_pools_split(struct vt_pools *pools, struct vt_piece *piece,
				uint64_t size_bytes);
/*
 * Cuts [address, address + size_bytes) out of the free piece around it; allocated, as far as the
 * pools know.  NULL: no mapped free memory is all of that.
 */
struct vt_piece *vt_pools_take_at(struct vt_pools *pools, uint64_t address, uint64_t size_bytes);
/* Joins free neighbours of the same kind to `piece`, which is in no set. */
void vt_pools_merge(struct vt_pools *pools, struct vt_piece *piece);
/* Puts into the set of free pieces, or of unmapped ones. */
void vt_pools_insert(struct vt_piece *piece);
void vt_pools_remove(struct vt_piece *piece);

void vt_pools_note(struct vt_pools *pools, enum vt_segment_op op, uint64_t address,
		   uint64_t size_bytes);

#endif
