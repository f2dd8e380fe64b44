/* SPDX-License-Identifier: MIT */
/*
 * Device memory, host memory, stream-ordered memory, pools, inter-process handles, pointer
 * attributes.
 */
#include "runtime.h"

#include <string.h>

enum {
	MEMORY_TYPE_HOST = 1,
	MEMORY_TYPE_MANAGED = 3,
	NO_DEVICE = -2, /* cudaInvalidDeviceId: what an unknown host pointer belongs to */
	/* CU_POINTER_ATTRIBUTE_* */
	ATTRIBUTE_MEMORY_TYPE = 2,
	ATTRIBUTE_DEVICE_POINTER = 3,
	ATTRIBUTE_HOST_POINTER = 4,
	ATTRIBUTE_IS_MANAGED = 8,
	ATTRIBUTE_DEVICE_ORDINAL = 9,
};

struct pointer_attributes {
	int type;
	int device;
	void *device_pointer;
	void *host_pointer;
#if VTS_CUDART_MAJOR >= 13
	long reserved[8];
#endif
};

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static int store_address(int error, void **pointer, uint64_t address)
{
	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return vts_error_set(error);
}

/* cudaMalloc(0) succeeds with NULL and does not reach the driver, whose cuMemAlloc refuses 0. */
ENTRY(cudaMalloc, void **pointer, size_t size_bytes)
{
	uint64_t address = 0;
	int error = pointer ? vts_context_enter() : VTS_INVALID_VALUE;

	if (!error && size_bytes)
		error = VTS_CALL(cuMemAlloc, &address, size_bytes);
	return store_address(error, pointer, address);
}

ENTRY(cudaMallocPitch, void **pointer, size_t *pitch, size_t width, size_t height)
{
	uint64_t address = 0;
	int error = pointer && pitch ? vts_context_enter() : VTS_INVALID_VALUE;

	/* 4: the smallest element size that the driver takes. */
	if (!error && width && height)
		error = VTS_CALL(cuMemAllocPitch, &address, pitch, width, height, 4);
	return store_address(error, pointer, address);
}

ENTRY(cudaMallocManaged, void **pointer, size_t size_bytes, unsigned int flags)
{
	uint64_t address = 0;
	int error = pointer ? vts_context_enter() : VTS_INVALID_VALUE;

	if (!error)
		error = VTS_CALL(cuMemAllocManaged, &address, size_bytes, flags);
	return store_address(error, pointer, address);
}

ENTRY(cudaFree, void *pointer)
{
	int error = vts_context_enter();

	if (!error && pointer)
		error = VTS_CALL(cuMemFree, address_of(pointer));
	return vts_error_set(error);
}

ENTRY(cudaMemGetInfo, size_t *free_bytes, size_t *total_bytes)
{
	return VTS_IN_CONTEXT(cuMemGetInfo, free_bytes, total_bytes);
}

static int host_alloc(void **pointer, size_t size_bytes, unsigned int flags)
{
	int error = pointer ? vts_context_enter() : VTS_INVALID_VALUE;

	if (!error && !size_bytes)
		*pointer = NULL;
	else if (!error)
		error = VTS_CALL(cuMemHostAlloc, pointer, size_bytes, flags);
	return vts_error_set(error);
}

ENTRY(cudaHostAlloc, void **pointer, size_t size_bytes, unsigned int flags)
{
	return host_alloc(pointer, size_bytes, flags);
}

ENTRY(cudaMallocHost, void **pointer, size_t size_bytes)
{
	return host_alloc(pointer, size_bytes, 0);
}

ENTRY(cudaFreeHost, void *pointer)
{
	int error = vts_context_enter();

	if (!error && pointer)
		error = VTS_CALL(cuMemFreeHost, pointer);
	return vts_error_set(error);
}

ENTRY(cudaHostRegister, void *pointer, size_t size_bytes, unsigned int flags)
{
	return VTS_IN_CONTEXT(cuMemHostRegister, pointer, size_bytes, flags);
}

ENTRY(cudaHostUnregister, void *pointer)
{
	return VTS_IN_CONTEXT(cuMemHostUnregister, pointer);
}

ENTRY(cudaHostGetFlags, unsigned int *flags, void *pointer)
{
	return VTS_IN_CONTEXT(cuMemHostGetFlags, flags, pointer);
}

ENTRY(cudaHostGetDevicePointer, void **device_pointer, void *pointer, unsigned int flags)
{
	uint64_t address = 0;
	int error = vts_context_enter();

	if (!error)
		error = VTS_CALL(cuMemHostGetDevicePointer, &address, pointer, flags);
	return store_address(error, device_pointer, address);
}

ENTRY(cudaPointerGetAttributes, struct pointer_attributes *answer, const void *pointer)
{
	int type = 0, device = 0;
	unsigned int is_managed = 0;
	uint64_t device_address = 0;
	void *host_pointer = NULL;
	int wanted[] = {ATTRIBUTE_MEMORY_TYPE, ATTRIBUTE_DEVICE_POINTER, ATTRIBUTE_HOST_POINTER,
			ATTRIBUTE_IS_MANAGED, ATTRIBUTE_DEVICE_ORDINAL};
	void *values[] = {&type, &device_address, &host_pointer, &is_managed, &device};
	int error = answer ? vts_context_enter() : VTS_INVALID_VALUE;

	if (!error)
		error = VTS_CALL(cuPointerGetAttributes, 5, wanted, values, address_of(pointer));
	if (error)
		return vts_error_set(error);
	memset(answer, 0, sizeof(*answer));
	answer->type = is_managed ? MEMORY_TYPE_MANAGED : type;
	if (!type) {
		answer->device = NO_DEVICE;
		answer->host_pointer = (void *)(uintptr_t)pointer;
		return VTS_SUCCESS;
	}
	answer->device = device;
	answer->device_pointer = (void *)(uintptr_t)device_address;
	answer->host_pointer = is_managed || type == MEMORY_TYPE_HOST ? host_pointer : NULL;
	return VTS_SUCCESS;
}

ENTRY(cudaIpcGetMemHandle, void *handle, void *pointer)
{
	return VTS_IN_CONTEXT(cuIpcGetMemHandle, handle, address_of(pointer));
}

ENTRY(cudaIpcOpenMemHandle, void **pointer, struct vts_ipc_handle handle, unsigned int flags)
{
	uint64_t address = 0;
	int error = vts_context_enter();

	if (!error)
		error = VTS_CALL(cuIpcOpenMemHandle, &address, handle, flags);
	return store_address(error, pointer, address);
}

ENTRY(cudaIpcCloseMemHandle, void *pointer)
{
	return VTS_IN_CONTEXT(cuIpcCloseMemHandle, address_of(pointer));
}

ENTRY(cudaIpcGetEventHandle, void *handle, void *event)
{
	return VTS_IN_CONTEXT(cuIpcGetEventHandle, handle, event);
}

ENTRY(cudaIpcOpenEventHandle, void **event, struct vts_ipc_handle handle)
{
	return VTS_IN_CONTEXT(cuIpcOpenEventHandle, event, handle);
}

static int malloc_async(const struct vts_driver *driver, void **pointer, size_t size_bytes,
			void *stream)
{
	uint64_t address = 0;
	int error = pointer ? vts_context_enter() : VTS_INVALID_VALUE;

	if (!error && size_bytes)
		error = VTS_CALL_OF(driver, cuMemAllocAsync, &address, size_bytes, stream);
	return store_address(error, pointer, address);
}

static int malloc_from_pool_async(const struct vts_driver *driver, void **pointer,
				  size_t size_bytes, void *pool, void *stream)
{
	uint64_t address = 0;
	int error = pointer ? vts_context_enter() : VTS_INVALID_VALUE;

	if (!error && size_bytes)
		error = VTS_CALL_OF(driver, cuMemAllocFromPoolAsync, &address, size_bytes, pool,
				    stream);
	return store_address(error, pointer, address);
}

static int free_async(const struct vts_driver *driver, void *pointer, void *stream)
{
	int error = vts_context_enter();

	if (!error && pointer)
		error = VTS_CALL_OF(driver, cuMemFreeAsync, address_of(pointer), stream);
	return vts_error_set(error);
}

/* clang-format off */
ENTRY_PER_STREAM(cudaMallocAsync, _ptsz, malloc_async,
	(void **pointer, size_t size_bytes, void *stream),
	(driver, pointer, size_bytes, stream))
ENTRY_PER_STREAM(cudaMallocFromPoolAsync, _ptsz, malloc_from_pool_async,
	(void **pointer, size_t size_bytes, void *pool, void *stream),
	(driver, pointer, size_bytes, pool, stream))
ENTRY_PER_STREAM(cudaFreeAsync, _ptsz, free_async,
	(void *pointer, void *stream),
	(driver, pointer, stream))
/* clang-format on */

ENTRY(cudaDeviceGetDefaultMemPool, void **pool, int device)
{
	return VTS_INITIALIZED(cuDeviceGetDefaultMemPool, pool, device);
}

ENTRY(cudaDeviceGetMemPool, void **pool, int device)
{
	return VTS_INITIALIZED(cuDeviceGetMemPool, pool, device);
}

ENTRY(cudaDeviceSetMemPool, int device, void *pool)
{
	return VTS_INITIALIZED(cuDeviceSetMemPool, device, pool);
}

ENTRY(cudaMemPoolCreate, void **pool, const void *properties)
{
	return VTS_INITIALIZED(cuMemPoolCreate, pool, properties);
}

ENTRY(cudaMemPoolDestroy, void *pool)
{
	return VTS_INITIALIZED(cuMemPoolDestroy, pool);
}

ENTRY(cudaMemPoolTrimTo, void *pool, size_t keep_bytes)
{
	return VTS_INITIALIZED(cuMemPoolTrimTo, pool, keep_bytes);
}

ENTRY(cudaMemPoolGetAttribute, void *pool, int attribute, void *value)
{
	return VTS_INITIALIZED(cuMemPoolGetAttribute, pool, attribute, value);
}

ENTRY(cudaMemPoolSetAttribute, void *pool, int attribute, void *value)
{
	return VTS_INITIALIZED(cuMemPoolSetAttribute, pool, attribute, value);
}

ENTRY(cudaMemPoolSetAccess, void *pool, const void *accesses, size_t count)
{
	return VTS_INITIALIZED(cuMemPoolSetAccess, pool, accesses, count);
}

ENTRY(cudaMemPoolGetAccess, int *flags, void *pool, void *location)
{
	return VTS_INITIALIZED(cuMemPoolGetAccess, flags, pool, location);
}
