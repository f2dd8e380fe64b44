/* SPDX-License-Identifier: MIT */
/*
 * cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync and their per-thread twins, which are
 * written out because the ledger names the function that was called.  On a capturing stream the
 * memory is the graph's.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_graph.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"
#include "simulator/driver_pool.h"
#include "simulator/driver_stream.h"

static void raise(uint64_t *high, uint64_t value)
{
	if (value > *high)
		*high = value;
}

static CUresult alloc_from(struct vts_pool *pool, CUdeviceptr *address, uint64_t size_bytes,
			   CUstream stream)
{
	struct vts_range range = { .size_bytes = size_bytes,
				   .kind = VTS_KIND_POOL,
				   .device = pool->arena.device,
				   .handle = (uintptr_t)pool->handle,
				   .arena = &pool->arena };
	CUresult result;

	if (size_bytes > 1ULL << 46 ||
	    (pool->max_bytes && pool->arena.used_bytes + size_bytes > pool->max_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = vts_arena_alloc(&pool->arena, size_bytes, &range.start);
	if (result)
		return result;
	range.span_bytes = size_bytes;
	result = vts_live_add(&range, (uintptr_t)stream);
	if (result) {
		vts_arena_free(&pool->arena, range.start);
		return result;
	}
	raise(&pool->reserved_high_bytes, pool->arena.reserved_bytes);
	raise(&pool->used_high_bytes, pool->arena.used_bytes);
	*address = range.start;
	return CUDA_SUCCESS;
}

static CUresult alloc(struct vts_pool *pool, CUdeviceptr *address, uint64_t size_bytes,
		      CUstream stream)
{
	CUresult result;

	if (!address || !size_bytes || !pool || pool->is_destroyed)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vts_stream_is_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (vts_capture_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &result))
		return result ? result :
				vts_graph_alloc(vts_capture_graph(stream), pool->arena.device,
						size_bytes, address);
	return alloc_from(pool, address, size_bytes, stream);
}

static CUresult release(CUdeviceptr address, CUstream stream)
{
	struct vts_range *range = vts_live_find_start(address);
	CUmemoryPool pool = NULL;
	CUresult result;

	if (!vts_stream_is_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!range || range->kind == VTS_KIND_HOST || range->kind == VTS_KIND_REGISTERED ||
	    range->kind == VTS_KIND_MAPPING ||
	    (range->kind == VTS_KIND_IPC && !range->handle)) {
		vts_ledger_count_bad_free(address);
		return CUDA_ERROR_INVALID_VALUE;
	}
	/*
	 * A captured free happens when the graph runs; its memory stays until the graph is
	 * destroyed.
	 */
	if (vts_capture_node(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, &result))
		return result;
	if (range->kind == VTS_KIND_POOL)
		pool = (CUmemoryPool)(uintptr_t)range->handle;
	vts_live_drop(range, "free", (uintptr_t)stream);
	vts_pool_released(pool);
	return CUDA_SUCCESS;
}

/* NULL is a default stream: which one, the kind of function says. */
static CUstream per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size_bytes, CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return vts_call_leave(alloc(vts_pool_current(vts_scope_context()->device), address,
				    size_bytes, stream));
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size_bytes, CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return vts_call_leave(alloc(vts_pool_current(vts_scope_context()->device), address,
				    size_bytes, per_thread(stream)));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size_bytes, CUmemoryPool pool,
				 CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return vts_call_leave(alloc(vts_pool_find(pool), address, size_bytes, stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size_bytes, CUmemoryPool pool,
				      CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return vts_call_leave(alloc(vts_pool_find(pool), address, size_bytes, per_thread(stream)));
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(release(address, stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(release(address, per_thread(stream)));
}
