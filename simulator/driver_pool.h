/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_POOL_H
#define VTS_DRIVER_POOL_H

/*
 * Memory pools and stream-ordered allocation.  A pool takes memory from the device in chunks of 32
 * MiB (assumed; NVIDIA does not say) and gives empty chunks back when a stream, event or context
 * of its device is synchronised while more than the release threshold is reserved.
 *
 * Needs the call mutex.
 */

#include "simulator/driver_arena.h"

struct vts_pool {
	CUmemoryPool handle;
	struct vts_arena arena;
	uint64_t release_threshold_bytes;
	uint64_t max_bytes; /* 0: no limit */
	uint64_t reserved_high_bytes, used_high_bytes;
	int reuse[3]; /* CU_MEMPOOL_ATTR_REUSE_*: kept, without effect */
	int is_destroyed;
};

struct vts_pool *vts_pool_new(CUdevice device);
struct vts_pool *vts_pool_find(CUmemoryPool handle);
struct vts_pool *vts_pool_default(CUdevice device);
struct vts_pool *vts_pool_current(CUdevice device);

/* CUDA_ERROR_INVALID_VALUE for a pool of another device. */
CUresult vts_pool_set_current(CUdevice device, CUmemoryPool handle);

/* No more allocations; a destroyed current pool makes the default one current. */
CUresult vts_pool_destroy(CUmemoryPool handle);

/* Called by everything that synchronises DEVICE. */
void vts_pool_synchronised(CUdevice device);

/*
 * Called after a free: a destroyed pool goes with its last allocation.  NULL and stale handles are
 * fine.
 */
void vts_pool_released(CUmemoryPool handle);

#endif
