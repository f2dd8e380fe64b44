/* SPDX-License-Identifier: MIT */
/*
 * A library that is opened with RTLD_DEEPBIND: it finds the driver that it is linked to and libc's
 * dlsym before anything that was preloaded.
 */
#include <dlfcn.h>

#include "common/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void *deep_look_up(void *handle, const char *name);
EXPORT CUresult deep_alloc(CUdeviceptr *address, size_t size_bytes);

void *deep_look_up(void *handle, const char *name)
{
	return dlsym(handle, name);
}

CUresult deep_alloc(CUdeviceptr *address, size_t size_bytes)
{
	return cuMemAlloc_v2(address, size_bytes);
}
