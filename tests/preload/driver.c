/* SPDX-License-Identifier: MIT */
/*
 * A libcuda.so.1 of a few lines: hands out numbers as addresses, counts its calls, answers
 * cuGetProcAddress from a table of names and versions as the real one does.  Every call sets errno
 * to 77, so that a hook that changes errno afterwards is seen.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda_abi.h"
#include "tests/preload/driver.h"

static struct {
	unsigned int nr_calls;	/* of functions that the recorder hooks (atomic) */
	uint64_t next_address;	/* atomic */
	void (*call_in_free)(void);	/* atomic */
} g = { .next_address = 0x10000000 };

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned int driver_nr_calls(void)
{
	return __atomic_load_n(&g.nr_calls, __ATOMIC_RELAXED);
}

EXPORT void driver_call_in_free(void (*callback)(void))
{
	__atomic_store_n(&g.call_in_free, callback, __ATOMIC_RELAXED);
}

static CUresult count(CUresult result)
{
	__atomic_fetch_add(&g.nr_calls, 1, __ATOMIC_RELAXED);
	errno = DRIVER_ERRNO;
	return result;
}

static uint64_t new_address(void)
{
	return __atomic_add_fetch(&g.next_address, 0x10000, __ATOMIC_RELAXED);
}

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	*version = 12345;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	*context = DRIVER_CONTEXT;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	(void)device;
	*context = DRIVER_CONTEXT;
	return count(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	(void)device;
	return count(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return count(device == DRIVER_BAD_DEVICE ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	(void)flags;
	(void)device;
	*context = DRIVER_OTHER_CONTEXT;
	return count(CUDA_SUCCESS);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	return count(context == DRIVER_OTHER_CONTEXT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *shape)
{
	(void)shape;
	*array = (CUarray)(uintptr_t)new_address();
	return count(CUDA_SUCCESS);
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	(void)shape;
	*array = (CUarray)(uintptr_t)new_address();
	return count(CUDA_SUCCESS);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape,
	unsigned int nr_levels)
{
	(void)shape;
	(void)nr_levels;
	*array = (CUmipmappedArray)(uintptr_t)new_address();
	return count(CUDA_SUCCESS);
}

CUresult cuArrayDestroy(CUarray array)
{
	(void)array;
	return count(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *nr)
{
	const char *text = getenv(DRIVER_DEVICES);

	*nr = text ? atoi(text) : 1;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	(void)device;
	strncpy(name, "Test device", (size_t)size);
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *total_bytes, CUdevice device)
{
	(void)device;
	*total_bytes = DRIVER_TOTAL_BYTES;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	if (free_bytes)
		*free_bytes = DRIVER_FREE_BYTES;
	if (total_bytes)
		*total_bytes = DRIVER_TOTAL_BYTES;
	return count(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size_bytes)
{
	if (size_bytes > DRIVER_TOTAL_BYTES)
		return count(CUDA_ERROR_OUT_OF_MEMORY);
	*address = new_address();
	return count(CUDA_SUCCESS);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
	unsigned int element_bytes)
{
	(void)height;
	(void)element_bytes;
	*address = new_address();
	*pitch = (width + 511) / 512 * 512;
	return count(CUDA_SUCCESS);
}

/* Through its own exported function, which a preloaded library stands in front of. */
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size_bytes, unsigned int flags)
{
	(void)flags;
	return cuMemAlloc_v2(address, size_bytes);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	void (*callback)(void) = __atomic_exchange_n(&g.call_in_free, NULL, __ATOMIC_RELAXED);

	if (callback)
		callback();
	return count(address == DRIVER_BAD_ADDRESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size_bytes, CUstream stream)
{
	(void)stream;
	return cuMemAlloc_v2(address, size_bytes);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size_bytes, CUstream stream)
{
	(void)size_bytes;
	(void)stream;
	*address = new_address();
	return count(CUDA_SUCCESS);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size_bytes,
	const CUmemAllocationProp *properties, unsigned long long flags)
{
	(void)size_bytes;
	(void)properties;
	(void)flags;
	*handle = new_address();
	return count(CUDA_SUCCESS);
}

CUresult cuMemHostAlloc(void **address, size_t size_bytes, unsigned int flags)
{
	(void)size_bytes;
	(void)flags;
	*address = (void *)(uintptr_t)new_address();
	return count(CUDA_SUCCESS);
}

static void *find(const char *name, int version, uint64_t flags)
{
	const int per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	const struct {
		const char *name;
		int version;
		void *address;
	} rows[] = {
		{ "cuInit", 2000, (void *)cuInit },
		{ "cuMemAlloc", 3020, (void *)cuMemAlloc_v2 },
		{ "cuMemFree", 3020, (void *)cuMemFree_v2 },
		{ "cuMemAllocAsync", 11020,
		  per_thread ? (void *)cuMemAllocAsync_ptsz : (void *)cuMemAllocAsync },
		{ "cuGetProcAddress", 12000, (void *)cuGetProcAddress_v2 },
		{ "cuGetProcAddress", 11030, (void *)cuGetProcAddress },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0 && version >= rows[i].version)
			return rows[i].address;
	return NULL;
}

CUresult cuGetProcAddress(const char *name, void **address, int version, uint64_t flags)
{
	*address = find(name, version, flags);
	return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	*address = find(name, version, flags);
	if (status)
		*status = *address ? CU_GET_PROC_ADDRESS_SUCCESS
				   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *address || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
