/* SPDX-License-Identifier: MIT */
/* The functions of pools; allocation from them is driver_pool_alloc.c. */
#include "simulator/driver_call.h"
#include "simulator/driver_device.h"
#include "simulator/driver_pool.h"

static CUresult answer_pool(CUmemoryPool *out, CUdevice device,
			    struct vts_pool *(*which)(CUdevice))
{
	struct vts_pool *pool;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vts_device_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pool = which(device);
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = pool->handle;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(answer_pool(out, device, vts_pool_default));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(answer_pool(out, device, vts_pool_current));
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_pool_set_current(device, pool));
}

/* The functions of CUDA 13 name a location and a type; only pinned device memory is offered. */
static CUresult check_location(const CUmemLocation *location, CUmemAllocationType type)
{
	if (!location)
		return CUDA_ERROR_INVALID_VALUE;
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
			       type == CU_MEM_ALLOCATION_TYPE_PINNED ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location,
				CUmemAllocationType type)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_location(location, type);
	if (!result)
		result = answer_pool(out, location->id, vts_pool_default);
	return vts_call_leave(result);
}

CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_location(location, type);
	if (!result)
		result = answer_pool(out, location->id, vts_pool_current);
	return vts_call_leave(result);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_location(location, type);
	if (!result)
		result = vts_pool_set_current(location->id, pool);
	return vts_call_leave(result);
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
	struct vts_pool *pool;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!out || !properties)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return vts_call_leave(CUDA_ERROR_NOT_SUPPORTED);
	if (!vts_device_at(properties->location.id))
		return vts_call_leave(CUDA_ERROR_INVALID_DEVICE);
	pool = vts_pool_new(properties->location.id);
	if (!pool)
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	pool->max_bytes = properties->maxSize;
	*out = pool->handle;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_pool_destroy(pool));
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes)
{
	struct vts_pool *pool;

	VTS_ENTER(VTS_NEEDS_INIT);
	pool = vts_pool_find(handle);
	if (!pool)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	vts_arena_trim(&pool->arena, keep_bytes);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct vts_pool *pool;

	VTS_ENTER(VTS_NEEDS_INIT | VTS_UNSAFE_IN_CAPTURE);
	pool = vts_pool_find(handle);
	if (!pool || !value)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse[attribute - 1] = *(int *)value;
		return vts_call_leave(CUDA_SUCCESS);
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->release_threshold_bytes = *(uint64_t *)value;
		return vts_call_leave(CUDA_SUCCESS);
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		/* High-water marks can only be reset to the present. */
		if (*(uint64_t *)value)
			return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
		if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
			pool->reserved_high_bytes = pool->arena.reserved_bytes;
		else
			pool->used_high_bytes = pool->arena.used_bytes;
		return vts_call_leave(CUDA_SUCCESS);
	default:
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	}
}

static CUresult get_attribute(const struct vts_pool *pool, CUmemPool_attribute attribute, void *out)
{
	uint64_t *bytes = out;

	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)out = pool->reuse[attribute - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*bytes = pool->release_threshold_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*bytes = pool->arena.reserved_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*bytes = pool->reserved_high_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*bytes = pool->arena.used_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*bytes = pool->used_high_bytes;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	const struct vts_pool *pool;

	VTS_ENTER(VTS_NEEDS_INIT | VTS_UNSAFE_IN_CAPTURE);
	pool = vts_pool_find(handle);
	if (!pool || !value)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(get_attribute(pool, attribute, value));
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *access, size_t nr_access)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!vts_pool_find(handle) || (nr_access && !access))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!flags || !location || !vts_pool_find(handle))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return vts_call_leave(CUDA_SUCCESS);
}
