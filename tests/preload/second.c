/* SPDX-License-Identifier: MIT */
/*
 * Another preloaded library that stands in front of the driver and of dlsym, as those that limit
 * GPU memory do. It comes behind the recorder and must still be asked; it finds its own real
 * functions with RTLD_NEXT.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "common/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
	unsigned int nr_allocations;
	unsigned int nr_look_ups;
} g;

EXPORT unsigned int second_nr_allocations(void);
EXPORT unsigned int second_nr_look_ups(void);
EXPORT void *dlsym(void *handle, const char *name);

unsigned int second_nr_allocations(void)
{
	return g.nr_allocations;
}

unsigned int second_nr_look_ups(void)
{
	return g.nr_look_ups;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size_bytes)
{
	static void *driver;
	CUresult (*real)(CUdeviceptr *, size_t);

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW);
	*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	*(void **)&real = ((void *(*)(void *, const char *))(void *)real)(driver, "cuMemAlloc_v2");
	g.nr_allocations++;
	return real(address, size_bytes);
}

void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	g.nr_look_ups++;
	if (strcmp(name, "cuMemAlloc_v2") == 0)
		return (void *)cuMemAlloc_v2;
	return next(handle, name);
}
