/* SPDX-License-Identifier: MIT */
/*
 * Hooks of memory that is not this program's own: of other processes, of other interfaces, and of
 * objects that represent memory on several devices.  On no device: whoever allocated it counts it.
 */
#include "common/cuda_array.h"
#include "preload/devices.h"
#include "preload/hook_call.h"

/* The call does not say how much there is; the driver knows, and this is no time of capture. */
#define OPEN_IPC(name)                                                                             \
CUresult name(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)                     \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, handle, flags);                                                     \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_note(function, *address, vt_devices_range_bytes(*address),            \
				  vt_devices_context());                                           \
	return result;                                                                             \
}

OPEN_IPC(cuIpcOpenMemHandle)
OPEN_IPC(cuIpcOpenMemHandle_v2)

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	HOOK(cuIpcCloseMemHandle);

	FREE(real(address), address, 0, NULL);
	return result;
}

CUresult cuImportExternalMemory(CUexternalMemory *memory,
	const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *what)
{
	HOOK(cuImportExternalMemory);

	result = real(memory, what);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, (uintptr_t)*memory, what->size, vt_devices_context());
	return result;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory memory,
	const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *what)
{
	HOOK(cuExternalMemoryGetMappedBuffer);

	result = real(address, memory, what);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, *address, what->size, vt_devices_context());
	return result;
}

CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *array, CUexternalMemory memory,
	const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *what)
{
	HOOK(cuExternalMemoryGetMappedMipmappedArray);

	result = real(array, memory, what);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, (uintptr_t)*array,
				  vt_cuda_array_bytes(&what->arrayDesc, what->numLevels),
				  vt_devices_context());
	return result;
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
	HOOK(cuDestroyExternalMemory);

	FREE(real(memory), memory, 0, NULL);
	return result;
}

/* Its maps say how much it is. */
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
	CUmemAllocationHandleType type)
{
	HOOK(cuMemImportFromShareableHandle);

	result = real(handle, shareable, type);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, *handle, 0, 0);
	return result;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle,
	const CUmulticastObjectProp *properties)
{
	HOOK(cuMulticastCreate);

	result = real(handle, properties);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, *handle, properties->size, 0);
	return result;
}

#define BIND(name, parameters, arguments, what)                                                    \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_note(function, object, size_bytes, what);                             \
	return result;                                                                             \
}

BIND(cuMulticastBindMem,
	(CUmemGenericAllocationHandle object, size_t at, CUmemGenericAllocationHandle memory,
	 size_t offset, size_t size_bytes, unsigned long long flags),
	(object, at, memory, offset, size_bytes, flags), memory)
BIND(cuMulticastBindMem_v2,
	(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
	 CUmemGenericAllocationHandle memory, size_t offset, size_t size_bytes,
	 unsigned long long flags),
	(object, device, at, memory, offset, size_bytes, flags), memory)
BIND(cuMulticastBindAddr,
	(CUmemGenericAllocationHandle object, size_t at, CUdeviceptr memory, size_t size_bytes,
	 unsigned long long flags),
	(object, at, memory, size_bytes, flags), memory)
BIND(cuMulticastBindAddr_v2,
	(CUmemGenericAllocationHandle object, CUdevice device, size_t at, CUdeviceptr memory,
	 size_t size_bytes, unsigned long long flags),
	(object, device, at, memory, size_bytes, flags), memory)
BIND(cuMulticastUnbind,
	(CUmemGenericAllocationHandle object, CUdevice device, size_t at, size_t size_bytes),
	(object, device, at, size_bytes), at)
