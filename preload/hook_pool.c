/* SPDX-License-Identifier: MIT */
/* Hooks of stream-ordered memory. */
#include "preload/hook_call.h"

/* Stream-ordered memory; a _ptsz twin differs in what stream NULL means. */
#define ALLOC_ASYNC(name)                                                                          \
CUresult name(CUdeviceptr *address, size_t size_bytes, CUstream stream)                            \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, size_bytes, stream);                                                \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_from_pool(function, *address, size_bytes, NULL, stream);              \
	return result;                                                                             \
}

#define ALLOC_FROM_POOL(name)                                                                      \
CUresult name(CUdeviceptr *address, size_t size_bytes, CUmemoryPool pool, CUstream stream)         \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(address, size_bytes, pool, stream);                                          \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_from_pool(function, *address, size_bytes, pool, stream);              \
	return result;                                                                             \
}

#define FREE_ASYNC(name)                                                                           \
CUresult name(CUdeviceptr address, CUstream stream)                                                \
{                                                                                                  \
	HOOK(name);                                                                                \
	FREE(real(address, stream), address, 0, stream);                                           \
	return result;                                                                             \
}

ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)
FREE_ASYNC(cuMemFreeAsync)
FREE_ASYNC(cuMemFreeAsync_ptsz)
