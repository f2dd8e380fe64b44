/* SPDX-License-Identifier: MIT */
/*
 * The hooks of cuda_api.def: each calls the real function exactly once and returns what it
 * returned.
 *
 * Frees are recorded before the call, because the driver may give the address to another thread at
 * once; if the driver then refuses, a free_failed event takes the record back.  Everything else is
 * recorded after the call succeeded.  Output parameters are read only then.
 *
 * Device: physical memory (cuMemCreate) names its own; other device memory is on the device of the
 * thread's context; address ranges, mappings, host memory and frees have none (-1).
 */
#include <stdint.h>

#include "common/cuda_abi.h"
#include "preload/devices.h"
#include "preload/guard.h"
#include "preload/real.h"
#include "preload/tracker.h"

#define NO_DEVICE (-1)

/*
 * Opens every hook: `real` to call, `function` for the record, `recording` = not inside another
 * hook.
 */
#define HOOK(name)                                                                                 \
	__typeof__(&name) real = (__typeof__(&name))vt_real_find(VT_REAL_##name);                  \
	const enum vt_real_function function = VT_REAL_##name;                                     \
	const int recording VT_GUARD_SCOPE = vt_guard_enter();                                     \
	CUresult result;                                                                           \
	if (!real)                                                                                 \
		return CUDA_ERROR_NOT_INITIALIZED

static struct vt_event_record event_of(enum vt_real_function function, uint64_t address,
	uint64_t size_bytes)
{
	const struct vt_real_api *api = vt_real_api(function);

	return (struct vt_event_record){
		.op = api->op,
		.kind = api->kind,
		.function = api->id,
		.device = NO_DEVICE,
		.address = address,
		.size_bytes = size_bytes,
	};
}

/* Device memory: on success records it, and the device when it is new. */
static void note_allocation(enum vt_real_function function, CUdeviceptr address,
	uint64_t size_bytes, CUstream stream)
{
	struct vt_event_record event = event_of(function, address, size_bytes);

	event.device = vt_devices_current();
	event.stream = (uintptr_t)stream;
	vt_tracker_event(&event);
	vt_devices_note(event.device, stream);
}

/* Anything that is on no device, or whose device is another event's matter. */
static void note(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	uint64_t extra)
{
	struct vt_event_record event = event_of(function, address, size_bytes);

	event.extra = extra;
	vt_tracker_event(&event);
}

static void note_free(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	CUstream stream)
{
	struct vt_event_record event = event_of(function, address, size_bytes);

	event.stream = (uintptr_t)stream;
	vt_tracker_event(&event);
}

static void note_refused(enum vt_real_function function, uint64_t address, CUresult result)
{
	struct vt_event_record event = event_of(function, address, 0);

	event.op = VT_OP_FREE_FAILED;
	event.extra = result;
	vt_tracker_event(&event);
}

/* The middle of every freeing hook. */
#define FREE(call, address, size_bytes, stream)                                                    \
	do {                                                                                       \
		uint64_t freed_ = (uintptr_t)(address);                                            \
		int noted_ = recording && freed_;                                                  \
		if (noted_)                                                                        \
			note_free(function, freed_, size_bytes, stream);                           \
		result = call;                                                                     \
		if (noted_ && result != CUDA_SUCCESS)                                              \
			note_refused(function, freed_, result);                                    \
	} while (0)

/* Device and managed memory. */
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size_bytes)
{
	HOOK(cuMemAlloc_v2);

	result = real(address, size_bytes);
	if (recording && result == CUDA_SUCCESS)
		note_allocation(function, *address, size_bytes, NULL);
	return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width_bytes, size_t height,
	unsigned int element_bytes)
{
	HOOK(cuMemAllocPitch_v2);

	result = real(address, pitch, width_bytes, height, element_bytes);
	if (recording && result == CUDA_SUCCESS)
		note_allocation(function, *address, *pitch * height, NULL);
	return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size_bytes, unsigned int flags)
{
	HOOK(cuMemAllocManaged);

	result = real(address, size_bytes, flags);
	if (recording && result == CUDA_SUCCESS)
		note_allocation(function, *address, size_bytes, NULL);
	return result;
}

/* cuMemFree(0) is how programs create a context: no event. */
CUresult cuMemFree_v2(CUdeviceptr address)
{
	HOOK(cuMemFree_v2);

	FREE(real(address), address, 0, NULL);
	return result;
}

/* A program's own question; worth a record, since it tells device use from what we recorded. */
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	HOOK(cuMemGetInfo_v2);

	result = real(free_bytes, total_bytes);
	if (recording && result == CUDA_SUCCESS && free_bytes && total_bytes &&
	    vt_tracker_is_active()) {
		struct vt_event_record event = event_of(function, 0, *total_bytes);

		event.device = vt_devices_current();
		event.extra = *free_bytes;
		vt_tracker_event(&event);
	}
	return result;
}

/* Stream-ordered memory; a _ptsz twin differs in what stream NULL means. */
#define ALLOC_ASYNC(name)                                                                          \
CUresult name(CUdeviceptr *address, size_t size_bytes, CUstream stream)                            \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, size_bytes, stream);                                                \
	if (recording && result == CUDA_SUCCESS)                                                   \
		note_allocation(function, *address, size_bytes, stream);                           \
	return result;                                                                             \
}

#define ALLOC_FROM_POOL(name)                                                                      \
CUresult name(CUdeviceptr *address, size_t size_bytes, CUmemoryPool pool, CUstream stream)         \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, size_bytes, pool, stream);                                          \
	if (recording && result == CUDA_SUCCESS)                                                   \
		note_allocation(function, *address, size_bytes, stream);                           \
	return result;                                                                             \
}

#define FREE_ASYNC(name)                                                                           \
CUresult name(CUdeviceptr address, CUstream stream)                                                \
{                                                                                                  \
	HOOK(name);                                                                                \
	FREE(real(address, stream), address, 0, stream);                                           \
	return result;                                                                             \
}

ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)
FREE_ASYNC(cuMemFreeAsync)
FREE_ASYNC(cuMemFreeAsync_ptsz)

/* Virtual memory: physical memory has handles, address ranges are reserved, maps join the two. */
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size_bytes,
	const CUmemAllocationProp *properties, unsigned long long flags)
{
	HOOK(cuMemCreate);

	result = real(handle, size_bytes, properties, flags);
	if (recording && result == CUDA_SUCCESS) {
		struct vt_event_record event = event_of(function, *handle, size_bytes);

		/* Host memory can be had this way too (NCCL does): then it is on no device. */
		if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			event.device = properties->location.id;
		vt_tracker_event(&event);
		vt_devices_note(event.device, NULL);
	}
	return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	HOOK(cuMemRelease);

	FREE(real(handle), handle, 0, NULL);
	return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	HOOK(cuMemRetainAllocationHandle);

	result = real(handle, address);
	if (recording && result == CUDA_SUCCESS)
		note(function, *handle, 0, (uintptr_t)address);
	return result;
}

CUresult cuMemMap(CUdeviceptr address, size_t size_bytes, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	HOOK(cuMemMap);

	result = real(address, size_bytes, offset, handle, flags);
	if (recording && result == CUDA_SUCCESS)
		note(function, address, size_bytes, handle);
	return result;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size_bytes)
{
	HOOK(cuMemUnmap);

	FREE(real(address, size_bytes), address, size_bytes, NULL);
	return result;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size_bytes, size_t alignment,
	CUdeviceptr wanted, unsigned long long flags)
{
	HOOK(cuMemAddressReserve);

	result = real(address, size_bytes, alignment, wanted, flags);
	if (recording && result == CUDA_SUCCESS)
		note(function, *address, size_bytes, 0);
	return result;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size_bytes)
{
	HOOK(cuMemAddressFree);

	FREE(real(address, size_bytes), address, size_bytes, NULL);
	return result;
}

/* Page-locked host memory, the driver's own or the program's. */
CUresult cuMemHostAlloc(void **address, size_t size_bytes, unsigned int flags)
{
	HOOK(cuMemHostAlloc);

	result = real(address, size_bytes, flags);
	if (recording && result == CUDA_SUCCESS)
		note(function, (uintptr_t)*address, size_bytes, flags);
	return result;
}

CUresult cuMemAllocHost_v2(void **address, size_t size_bytes)
{
	HOOK(cuMemAllocHost_v2);

	result = real(address, size_bytes);
	if (recording && result == CUDA_SUCCESS)
		note(function, (uintptr_t)*address, size_bytes, 0);
	return result;
}

CUresult cuMemFreeHost(void *address)
{
	HOOK(cuMemFreeHost);

	FREE(real(address), address, 0, NULL);
	return result;
}

CUresult cuMemHostRegister_v2(void *address, size_t size_bytes, unsigned int flags)
{
	HOOK(cuMemHostRegister_v2);

	result = real(address, size_bytes, flags);
	if (recording && result == CUDA_SUCCESS)
		note(function, (uintptr_t)address, size_bytes, flags);
	return result;
}

CUresult cuMemHostUnregister(void *address)
{
	HOOK(cuMemHostUnregister);

	FREE(real(address), address, 0, NULL);
	return result;
}

/*
 * CUDA graphs: what an allocator gives out while a stream is captured belongs to the graph.  A
 * handle may be given out again as soon as it is destroyed, so that is recorded before the call, as
 * frees are; a refused one names a handle that was never alive.
 */
#define BEGIN_CAPTURE(name, parameters, arguments)                                                 \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		note(function, (uintptr_t)stream, 0, 0);                                           \
	return result;                                                                             \
}

/* A capture that something made invalid ends here as well, without a graph. */
#define END_CAPTURE(name)                                                                          \
CUresult name(CUstream stream, CUgraph *graph)                                                     \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(stream, graph);                                                              \
	if (recording &&                                                                           \
	    (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED))           \
		note(function, (uintptr_t)stream, 0,                                               \
		     result == CUDA_SUCCESS ? (uintptr_t)*graph : 0);                              \
	return result;                                                                             \
}

#define INSTANTIATE(name, parameters, arguments)                                                   \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		note(function, (uintptr_t)*executable, 0, (uintptr_t)graph);                       \
	return result;                                                                             \
}

#define DESTROY(name, type)                                                                        \
CUresult name(type graph)                                                                          \
{                                                                                                  \
	HOOK(name);                                                                                \
	if (recording && graph)                                                                    \
		note(function, (uintptr_t)graph, 0, 0);                                            \
	result = real(graph);                                                                      \
	return result;                                                                             \
}

#define TO_GRAPH                                                                                   \
	(CUstream stream, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges,   \
	 size_t nr, CUstreamCaptureMode mode)
#define WITH_PARAMS (CUgraphExec *executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how)

BEGIN_CAPTURE(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode),
	(stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, TO_GRAPH, (stream, graph, nodes, edges, nr, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (stream, graph, nodes, edges, nr, mode))
END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)
INSTANTIATE(cuGraphInstantiate_v2,
	(CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t log_bytes),
	(executable, graph, node, log, log_bytes))
INSTANTIATE(cuGraphInstantiateWithFlags,
	(CUgraphExec *executable, CUgraph graph, unsigned long long flags),
	(executable, graph, flags))
INSTANTIATE(cuGraphInstantiateWithParams, WITH_PARAMS, (executable, graph, how))
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, WITH_PARAMS, (executable, graph, how))
DESTROY(cuGraphDestroy, CUgraph)
DESTROY(cuGraphExecDestroy, CUgraphExec)
