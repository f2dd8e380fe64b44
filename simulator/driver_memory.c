/* SPDX-License-Identifier: MIT */
/* Device and managed memory: allocation, release, the account. */
#include "simulator/driver_call.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_device.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"
#include "simulator/driver_pool.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_size.h"

#define PITCH_ALIGNMENT 512 /* what cudaMallocPitch gives on cards since 2.0 */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	const struct vt_card_profile *profile = vts_profile_get();

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (free_bytes)
		*free_bytes = vts_device_free_bytes(vts_scope_context()->device);
	if (total_bytes)
		*total_bytes = profile->total_bytes;
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult alloc(CUdeviceptr *address, uint64_t size_bytes, enum vts_kind kind)
{
	struct vts_range range = { .size_bytes = size_bytes, .kind = kind };
	CUresult result;

	if (!address || !size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	range.device = vts_scope_context()->device;
	range.context = vts_scope_context()->id;
	result = vts_live_alloc(&range);
	if (!result)
		*address = range.start;
	return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size_bytes)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE, size_bytes);
	return vts_call_leave(alloc(address, size_bytes, VTS_KIND_DEVICE));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width_bytes, size_t height,
			    unsigned int element_bytes)
{
	uint64_t wide = vts_size_round_up(width_bytes, PITCH_ALIGNMENT);
	CUresult result;

	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE, wide * height);
	if (!pitch || !width_bytes || !height || width_bytes > 1ULL << 40 || height > 1ULL << 20 ||
	    (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	result = alloc(address, wide * height, VTS_KIND_DEVICE);
	if (!result)
		*pitch = wide;
	return vts_call_leave(result);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size_bytes, unsigned int flags)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE, size_bytes);
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(alloc(address, size_bytes, VTS_KIND_MANAGED));
}

/* Frees synchronous, managed and stream-ordered memory alike; freeing NULL is no free. */
CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct vts_range *range;
	CUmemoryPool pool = NULL;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!address)
		return vts_call_leave(CUDA_SUCCESS);
	range = vts_live_find_start(address);
	if (!range || (range->kind != VTS_KIND_DEVICE && range->kind != VTS_KIND_MANAGED &&
		       range->kind != VTS_KIND_POOL && range->kind != VTS_KIND_GRAPH &&
		       range->kind != VTS_KIND_EXTERNAL &&
		       !(range->kind == VTS_KIND_IPC && range->handle))) {
		vts_ledger_count_bad_free(address);
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	}
	if (range->kind == VTS_KIND_POOL)
		pool = (CUmemoryPool)(uintptr_t)range->handle;
	vts_live_drop(range, "free", 0);
	vts_pool_released(pool);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size_bytes, CUdeviceptr address)
{
	const struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	range = vts_live_find(address);
	if (!range)
		return vts_call_leave(CUDA_ERROR_NOT_FOUND);
	if (start)
		*start = range->start;
	if (size_bytes)
		*size_bytes = range->size_bytes;
	return vts_call_leave(CUDA_SUCCESS);
}

/* Advice and prefetching move nothing: managed memory stays on the host. */
static CUresult check_managed(CUdeviceptr address, uint64_t size_bytes)
{
	const struct vts_range *range = vts_live_find(address);

	if (!range || !size_bytes || range->kind != VTS_KIND_MANAGED ||
	    address + size_bytes > range->start + range->size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuMemAdvise(CUdeviceptr address, size_t size_bytes, int advice, CUdevice device)
{
	(void)advice, (void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(check_managed(address, size_bytes));
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size_bytes, int advice, CUmemLocation location)
{
	(void)advice, (void)location;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(check_managed(address, size_bytes));
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size_bytes, CUdevice device,
			    CUstream stream)
{
	(void)device, (void)stream;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(check_managed(address, size_bytes));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size_bytes, CUmemLocation location,
			       unsigned int flags, CUstream stream)
{
	(void)location, (void)flags, (void)stream;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(check_managed(address, size_bytes));
}
