/* SPDX-License-Identifier: MIT */
/* Hooks of stream-ordered memory, its pools, and of what makes pools give memory back. */
#include "preload/devices.h"
#include "preload/hook_call.h"
#include "preload/pools.h"
#include "preload/tracker.h"

/* The whole hook of a function after which pools may hold less, or more, than was known. */
#define HOOK_AND_LOOK(name, arguments)                                                             \
	HOOK(name);                                                                                \
	(void)function;                                                                            \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_pools_look();                                                                   \
	return result

/* A _ptsz variant differs in what stream NULL means. */
#define LEGACY(stream) (stream)
#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

/* A captured free happens when the graph runs. */
static CUresult free_async(__typeof__(&cuMemFreeAsync) real, enum vt_real_function function,
	int recording, CUdeviceptr address, CUstream stream, uint64_t graph)
{
	struct vt_event_record event = vt_hook_call_event(function, address, 0);
	CUresult result;

	if (!graph) {
		FREE(real(address, stream), address, 0, stream);
		return result;
	}
	result = real(address, stream);
	event.op = VT_OP_FREE_NODE;
	event.kind = VT_KIND_GRAPH;
	event.stream = (uintptr_t)stream;
	event.extra = graph;
	if (recording && result == CUDA_SUCCESS)
		vt_tracker_event(&event);
	return result;
}

#define ALLOC_ASYNC(name, effective)                                                               \
CUresult name(CUdeviceptr *address, size_t size_bytes, CUstream stream)                            \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, size_bytes, stream);                                                \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_from_pool(function, *address, size_bytes, NULL,                       \
				       effective(stream));                                         \
	return result;                                                                             \
}

#define ALLOC_FROM_POOL(name, effective)                                                           \
CUresult name(CUdeviceptr *address, size_t size_bytes, CUmemoryPool pool, CUstream stream)         \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, size_bytes, pool, stream);                                          \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_from_pool(function, *address, size_bytes, pool,                       \
				       effective(stream));                                         \
	return result;                                                                             \
}

#define FREE_ASYNC(name, effective)                                                                \
CUresult name(CUdeviceptr address, CUstream stream)                                                \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = free_async(real, function, recording, address, stream,                            \
			    vt_devices_captured_graph(effective(stream)));                         \
	return result;                                                                             \
}

ALLOC_ASYNC(cuMemAllocAsync, LEGACY)
ALLOC_ASYNC(cuMemAllocAsync_ptsz, PER_THREAD)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync, LEGACY)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, PER_THREAD)
FREE_ASYNC(cuMemFreeAsync, LEGACY)
FREE_ASYNC(cuMemFreeAsync_ptsz, PER_THREAD)

static CUdevice device_of(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : VT_HOOK_NO_DEVICE;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	HOOK(cuMemPoolCreate);

	result = real(pool, properties);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_on_device(function, (uintptr_t)*pool, device_of(&properties->location),
				       0);
	return result;
}

/* Another thread may be about to ask the pool, whose handle says nothing once it is destroyed. */
static CUresult destroy_pool(__typeof__(&cuMemPoolDestroy) real, CUmemoryPool pool)
{
	uint64_t places = pool ? vt_pools_take_out((uintptr_t)pool) : 0;
	CUresult result = real(pool);

	vt_pools_settle(places, result == CUDA_SUCCESS);
	return result;
}

/* Its memory lives until the last allocation from it is freed. */
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	HOOK(cuMemPoolDestroy);

	FREE(destroy_pool(real, pool), pool, 0, NULL);
	return result;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes)
{
	HOOK(cuMemPoolTrimTo);

	result = real(pool, keep_bytes);
	if (recording && result == CUDA_SUCCESS) {
		vt_pools_look();
		vt_hook_call_note(function, (uintptr_t)pool, keep_bytes, 0);
	}
	return result;
}

/* The only one that changes how much memory is kept; the others are switches. */
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	HOOK(cuMemPoolSetAttribute);

	result = real(pool, attribute, value);
	if (recording && result == CUDA_SUCCESS && attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		vt_hook_call_note(function, (uintptr_t)pool, *(const uint64_t *)value, attribute);
	return result;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	HOOK(cuDeviceSetMemPool);

	result = real(device, pool);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_on_device(function, (uintptr_t)pool, device, 0);
	return result;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	HOOK(cuMemSetMemPool);

	result = real(location, type, pool);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_on_device(function, (uintptr_t)pool, device_of(location), type);
	return result;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *shareable,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	HOOK(cuMemPoolImportFromShareableHandle);

	result = real(pool, shareable, type, flags);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_on_device(function, (uintptr_t)*pool, VT_HOOK_NO_DEVICE, 0);
	return result;
}

/* Memory of the pool's process, freed here with cuMemFree or cuMemFreeAsync. */
CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
	CUmemPoolPtrExportData *exported)
{
	HOOK(cuMemPoolImportPointer);

	result = real(address, pool, exported);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, *address, vt_devices_range_bytes(*address),
				  (uintptr_t)pool);
	return result;
}

/* The program's own questions: a good moment for ours. */
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	HOOK_AND_LOOK(cuMemPoolGetAttribute, (pool, attribute, value));
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	HOOK_AND_LOOK(cuDeviceGetGraphMemAttribute, (device, attribute, value));
}

/* What a pool keeps beyond its threshold goes at the next synchronisation. */
CUresult cuCtxSynchronize(void)
{
	HOOK_AND_LOOK(cuCtxSynchronize, ());
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
	HOOK_AND_LOOK(cuCtxSynchronize_v2, (context));
}

CUresult cuStreamSynchronize(CUstream stream)
{
	HOOK_AND_LOOK(cuStreamSynchronize, (stream));
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	HOOK_AND_LOOK(cuStreamSynchronize_ptsz, (stream));
}

CUresult cuEventSynchronize(CUevent event)
{
	HOOK_AND_LOOK(cuEventSynchronize, (event));
}
