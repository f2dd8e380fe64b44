/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for a CUDA library: functions that have names of real ones and do nothing but ask the
 * driver for memory.  Built once under each of the libraries' file names (stand_ins.def).
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "common/cuda_abi.h"

static CUdeviceptr take(size_t size_bytes)
{
	__typeof__(&cuMemAlloc_v2) alloc;
	CUdeviceptr address = 0;

	*(void **)&alloc = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
	if (!alloc || alloc(&address, size_bytes) != CUDA_SUCCESS)
		abort();
	return address;
}

#define STAND_IN(library, name, symbol, mib, owner)                                                \
	__attribute__((visibility("default"))) CUdeviceptr name(void) __asm__(symbol);             \
	CUdeviceptr name(void)                                                                     \
	{                                                                                          \
		return take((size_t)(mib) << 20) | 0;                                              \
	}
#include "tests/workloads/stand_ins.def"
#undef STAND_IN
