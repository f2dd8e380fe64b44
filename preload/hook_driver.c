/* SPDX-License-Identifier: MIT */
/* Hooks of device memory, managed memory, virtual memory and page-locked host memory. */
#include "preload/devices.h"
#include "preload/hook_call.h"
#include "preload/pools.h"
#include "preload/tracker.h"

/* Device and managed memory. */
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size_bytes)
{
	HOOK(cuMemAlloc_v2);

	result = real(address, size_bytes);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_in_context(function, *address, size_bytes);
	return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width_bytes, size_t height,
	unsigned int element_bytes)
{
	HOOK(cuMemAllocPitch_v2);

	result = real(address, pitch, width_bytes, height, element_bytes);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_in_context(function, *address, *pitch * height);
	return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size_bytes, unsigned int flags)
{
	HOOK(cuMemAllocManaged);

	result = real(address, size_bytes, flags);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_in_context(function, *address, size_bytes);
	return result;
}

/* cuMemFree(0) is how programs create a context: no event. */
CUresult cuMemFree_v2(CUdeviceptr address)
{
	HOOK(cuMemFree_v2);

	FREE(real(address), address, 0, NULL);
	return result;
}

/* A program's own question; worth a record, since it shows device use beside what we recorded. */
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	HOOK(cuMemGetInfo_v2);

	result = real(free_bytes, total_bytes);
	if (recording && result == CUDA_SUCCESS && free_bytes && total_bytes &&
	    vt_tracker_is_active()) {
		struct vt_event_record event = vt_hook_call_event(function, 0, *total_bytes);

		vt_pools_look();
		event.device = vt_devices_current();
		event.extra = *free_bytes;
		vt_tracker_event(&event);
	}
	return result;
}

/* Virtual memory: physical memory has handles, address ranges are reserved, maps join the two. */
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size_bytes,
	const CUmemAllocationProp *properties, unsigned long long flags)
{
	HOOK(cuMemCreate);

	result = real(handle, size_bytes, properties, flags);
	if (recording && result == CUDA_SUCCESS) {
		struct vt_event_record event = vt_hook_call_event(function, *handle, size_bytes);

		/* Host memory can be had this way too (NCCL does): then it is on no device. */
		if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			event.device = properties->location.id;
		vt_pools_look();
		vt_tracker_event(&event);
		vt_devices_note(event.device, NULL, size_bytes);
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
		vt_hook_call_note(function, *handle, 0, (uintptr_t)address);
	return result;
}

CUresult cuMemMap(CUdeviceptr address, size_t size_bytes, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	HOOK(cuMemMap);

	result = real(address, size_bytes, offset, handle, flags);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, address, size_bytes, handle);
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
		vt_hook_call_note(function, *address, size_bytes, 0);
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
		vt_hook_call_host_in_context(function, *address, size_bytes);
	return result;
}

CUresult cuMemAllocHost_v2(void **address, size_t size_bytes)
{
	HOOK(cuMemAllocHost_v2);

	result = real(address, size_bytes);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_host_in_context(function, *address, size_bytes);
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
		vt_hook_call_host_in_context(function, address, size_bytes);
	return result;
}

CUresult cuMemHostRegister(void *address, size_t size_bytes, unsigned int flags)
{
	HOOK(cuMemHostRegister);

	result = real(address, size_bytes, flags);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_host_in_context(function, address, size_bytes);
	return result;
}

CUresult cuMemHostUnregister(void *address)
{
	HOOK(cuMemHostUnregister);

	FREE(real(address), address, 0, NULL);
	return result;
}
