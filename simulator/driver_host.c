/* SPDX-License-Identifier: MIT */
/* Pinned host memory: allocated here, or the program's own, registered. */
#include "simulator/driver_call.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"

#define MAX_ALLOC_FLAGS	   7
#define MAX_REGISTER_FLAGS 15

static CUresult alloc_host(void **address, uint64_t size_bytes, unsigned int flags)
{
	struct vts_range range = { .size_bytes = size_bytes,
				   .kind = VTS_KIND_HOST,
				   .device = -1,
				   .flags = flags };
	CUresult result;

	if (!address || !size_bytes || flags > MAX_ALLOC_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	range.context = vts_scope_context()->id;
	result = vts_live_alloc(&range);
	if (!result)
		*address = (void *)(uintptr_t)range.start;
	return result;
}

CUresult cuMemAllocHost_v2(void **address, size_t size_bytes)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE, size_bytes);
	return vts_call_leave(alloc_host(address, size_bytes, 0));
}

CUresult cuMemHostAlloc(void **address, size_t size_bytes, unsigned int flags)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE, size_bytes);
	return vts_call_leave(alloc_host(address, size_bytes, flags));
}

static CUresult drop(void *address, enum vts_kind kind, CUresult otherwise)
{
	struct vts_range *range = vts_live_find_start((uintptr_t)address);

	if (!range || range->kind != kind) {
		vts_ledger_count_bad_free((uintptr_t)address);
		return otherwise;
	}
	vts_live_drop(range, "free", 0);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!address)
		return vts_call_leave(CUDA_SUCCESS);
	return vts_call_leave(drop(address, VTS_KIND_HOST, CUDA_ERROR_INVALID_VALUE));
}

static CUresult register_host(void *address, uint64_t size_bytes, unsigned int flags)
{
	struct vts_range range = { .start = (uintptr_t)address,
				   .size_bytes = size_bytes,
				   .span_bytes = size_bytes,
				   .kind = VTS_KIND_REGISTERED,
				   .device = -1,
				   .flags = flags };

	if (!address || !size_bytes || flags > MAX_REGISTER_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	range.context = vts_scope_context()->id;
	return vts_live_add(&range, 0) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *address, size_t size_bytes, unsigned int flags)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return vts_call_leave(register_host(address, size_bytes, flags));
}

CUresult cuMemHostRegister_v2(void *address, size_t size_bytes, unsigned int flags)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return vts_call_leave(register_host(address, size_bytes, flags));
}

CUresult cuMemHostUnregister(void *address)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(
		drop(address, VTS_KIND_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
}

static const struct vts_range *find_host(const void *address)
{
	const struct vts_range *range = vts_live_find((uintptr_t)address);

	if (range && (range->kind == VTS_KIND_HOST || range->kind == VTS_KIND_REGISTERED))
		return range;
	return NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device_address, void *address,
				      unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!device_address || flags || !find_host(address))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*device_address = (uintptr_t)address;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *address)
{
	const struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	range = find_host(address);
	if (!flags || !range)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return vts_call_leave(CUDA_SUCCESS);
}
