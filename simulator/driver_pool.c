/* SPDX-License-Identifier: MIT */
#include "simulator/driver_pool.h"

#include "simulator/driver_device.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_size.h"

#include <stdlib.h>

#define CHUNK_BYTES (32 * VTS_MIB)

static struct {
	struct vts_pool *defaults[VT_CARD_MAX_DEVICES];
	struct vts_pool *currents[VT_CARD_MAX_DEVICES];
} g;

struct vts_pool *vts_pool_find(CUmemoryPool handle)
{
	return vts_handles_find(VTS_HANDLE_POOL, (uintptr_t)handle);
}

struct vts_pool *vts_pool_new(CUdevice device)
{
	struct vts_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->handle = (CUmemoryPool)vts_handles_new(VTS_HANDLE_POOL, pool);
	if (!pool->handle) {
		free(pool);
		return NULL;
	}
	pool->arena.device = device;
	pool->arena.chunk_bytes = CHUNK_BYTES;
	pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
	return pool;
}

struct vts_pool *vts_pool_default(CUdevice device)
{
	if (!vts_device_at(device))
		return NULL;
	if (!g.defaults[device])
		g.defaults[device] = vts_pool_new(device);
	return g.defaults[device];
}

struct vts_pool *vts_pool_current(CUdevice device)
{
	if (!vts_device_at(device))
		return NULL;
	return g.currents[device] ? g.currents[device] : vts_pool_default(device);
}

void vts_pool_released(CUmemoryPool handle)
{
	struct vts_pool *pool = vts_pool_find(handle);

	if (!pool || !pool->is_destroyed || pool->arena.used_bytes)
		return;
	vts_arena_trim(&pool->arena, 0);
	free(pool->arena.chunks);
	vts_handles_drop(VTS_HANDLE_POOL, (uintptr_t)pool->handle);
	free(pool);
}

void vts_pool_synchronised(CUdevice device)
{
	uintptr_t handle = 0;

	while ((handle = vts_handles_next(VTS_HANDLE_POOL, handle))) {
		struct vts_pool *pool = vts_handles_find(VTS_HANDLE_POOL, handle);

		if (pool->arena.device == device)
			vts_arena_trim(&pool->arena, pool->release_threshold_bytes);
	}
}

CUresult vts_pool_set_current(CUdevice device, CUmemoryPool handle)
{
	struct vts_pool *pool = vts_pool_find(handle);

	if (!vts_device_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pool || pool->is_destroyed || pool->arena.device != device)
		return CUDA_ERROR_INVALID_VALUE;
	g.currents[device] = pool;
	return CUDA_SUCCESS;
}

CUresult vts_pool_destroy(CUmemoryPool handle)
{
	struct vts_pool *pool = vts_pool_find(handle);

	if (!pool || pool->is_destroyed || pool == g.defaults[pool->arena.device])
		return CUDA_ERROR_INVALID_VALUE;
	if (g.currents[pool->arena.device] == pool)
		g.currents[pool->arena.device] = NULL;
	pool->is_destroyed = pool->arena.is_ending = 1;
	vts_pool_released(handle);
	return CUDA_SUCCESS;
}
