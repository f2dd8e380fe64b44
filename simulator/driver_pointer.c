/* SPDX-License-Identifier: MIT */
/* cuPointerGetAttribute and its relatives. */
#include "simulator/driver_call.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_live.h"

#include <string.h>

static int is_on_host(const struct vts_range *range)
{
	return range->kind == VTS_KIND_HOST || range->kind == VTS_KIND_REGISTERED;
}

static CUcontext context_of(const struct vts_range *range)
{
	struct vts_context *context = range->context ? vts_scope_find_id(range->context) : NULL;

	return context ? context->handle : NULL;
}

/* A pinned address belongs, as seen by the driver, to the device of the context that pinned it. */
static int device_of(const struct vts_range *range)
{
	struct vts_context *context;

	if (range->device >= 0)
		return range->device;
	context = vts_scope_find_id(range->context);
	return context ? context->device : 0;
}

#define ANSWER(type, value) (*(type *)out = (type)(value), CUDA_SUCCESS)

static CUresult answer(void *out, CUpointer_attribute attribute, const struct vts_range *range,
		       CUdeviceptr address)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return ANSWER(CUcontext, context_of(range));
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return ANSWER(unsigned int, is_on_host(range) ? CU_MEMORYTYPE_HOST :
								CU_MEMORYTYPE_DEVICE);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return ANSWER(CUdeviceptr, address);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_on_host(range) && range->kind != VTS_KIND_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		return ANSWER(void *, (uintptr_t)address);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return ANSWER(int, 0);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return ANSWER(unsigned long long, range->serial);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return ANSWER(int, range->kind == VTS_KIND_MANAGED);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return ANSWER(int, device_of(range));
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return ANSWER(CUdeviceptr, range->start);
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		return ANSWER(size_t, range->size_bytes);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return ANSWER(int, 1);
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return ANSWER(uint64_t, 0);
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return ANSWER(unsigned int, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return ANSWER(CUmemoryPool, range->kind == VTS_KIND_POOL ?
						    (uintptr_t)range->handle : 0);
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr address)
{
	const struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_INIT);
	range = vts_live_find(address);
	if (!out || !range)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(answer(out, attribute, range, address));
}

/* How wide an answer is: for an unknown pointer this call answers zeros, unlike the single one. */
static size_t width_of(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return sizeof(int);
	default:
		return sizeof(uint64_t);
	}
}

CUresult cuPointerGetAttributes(unsigned int nr, CUpointer_attribute *attributes, void **out,
				CUdeviceptr address)
{
	const struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!attributes || !out || !nr)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	range = vts_live_find(address);
	for (unsigned int i = 0; i < nr; i++)
		if (!range || answer(out[i], attributes[i], range, address))
			memset(out[i], 0, width_of(attributes[i]));
	for (unsigned int i = 0; i < nr && !range; i++)
		if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)out[i] = -2; /* "no device": what a real driver writes */
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
			       CUdeviceptr address)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !vts_live_find(address))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(CUDA_SUCCESS);
}
