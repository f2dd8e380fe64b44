/* SPDX-License-Identifier: MIT */
/*
 * Another preloaded library, behind the recorder, that finds its real function in the usual way:
 * the next one after itself.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
	unsigned int nr_allocations;
} g;

EXPORT unsigned int chained_nr_allocations(void);

unsigned int chained_nr_allocations(void)
{
	return g.nr_allocations;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size_bytes)
{
	CUresult (*real)(CUdeviceptr *, size_t);

	*(void **)&real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	g.nr_allocations++;
	/* Not itself again, through a hook that was given out for it. */
	return real && g.nr_allocations < 10 ? real(address, size_bytes) : CUDA_ERROR_UNKNOWN;
}

/* As a sanitizer's runtime has it, which reports at the end. */
EXPORT void _exit(int status)
{
	_Exit(status + 1);
}
