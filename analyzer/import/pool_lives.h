/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_POOL_LIVES_H
#define VT_ANALYZER_POOL_LIVES_H

/*
 * What stream-ordered pools, and devices for the memory nodes of graphs, hold beyond the
 * allocations that are live in them.  Pure state.
 *
 *  P1  What a pool holds is known from the first memory_info of it on; before, nothing is said.
 *  P2  It never holds less than its live allocations: idle is what is more.
 *  P3  A destroyed pool holds what it held until its last allocation is freed, then nothing.
 */

#include <stdint.h>

#include "analyzer/base/util.h"
#include "common/kinds.h"

struct vt_pool_life {
	uint64_t pool; /* handle; 0: memory of the device's graphs */
	uint64_t held_bytes;
	uint64_t live_bytes;
	int32_t device; /* of pools: as of the last memory_info, before -1 */
	uint8_t kind;   /* VT_KIND_POOL or VT_KIND_GRAPH */
	uint8_t is_destroyed;
};

struct vt_pool_lives {
	VT_VECTOR(struct vt_pool_life) pools;
};

void vt_pool_lives_release(struct vt_pool_lives *lives);

static inline int vt_pool_lives_has_kind(unsigned int kind)
{
	return kind == VT_KIND_POOL || kind == VT_KIND_GRAPH;
}

/* An allocation of such a kind comes or goes; `parent` is what it goes with: pool or graph. */
void vt_pool_lives_add(struct vt_pool_lives *lives, unsigned int kind, uint64_t parent,
		       int32_t device, uint64_t size_bytes);
void vt_pool_lives_remove(struct vt_pool_lives *lives, unsigned int kind, uint64_t parent,
			  int32_t device, uint64_t size_bytes);

/* A memory_info event. */
void vt_pool_lives_hold(struct vt_pool_lives *lives, unsigned int kind, uint64_t pool,
			int32_t device, uint64_t held_bytes);
/* A pool is destroyed, or (0) was not after all, or is created. */
void vt_pool_lives_destroy(struct vt_pool_lives *lives, uint64_t pool, int is_destroyed);
void vt_pool_lives_create(struct vt_pool_lives *lives, uint64_t pool);

/* Held without being allocated, of that kind on that device. */
uint64_t vt_pool_lives_idle(const struct vt_pool_lives *lives, unsigned int kind, int32_t device);

#endif
