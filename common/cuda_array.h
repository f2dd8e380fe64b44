/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_CUDA_ARRAY_H
#define VT_COMMON_CUDA_ARRAY_H

/*
 * How much memory a CUDA array needs at least: its elements.  The driver says more only of arrays
 * with deferred mapping (cuArrayGetMemoryRequirements refuses all others), and the real layout is
 * tiled, so what is really taken is larger by an unknown amount.
 */

#include "common/cuda_abi.h"

/*
 * Bytes of all levels; `nr_levels` 0 or 1 is a plain array.  0 for a sparse one and one whose
 * mapping is deferred (they get their memory from cuMemMapArrayAsync), and for element formats that
 * are not known here.
 */
uint64_t vt_cuda_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int nr_levels);

/* Bytes of a channel of an element, 0 where the format is not known. */
uint64_t vt_cuda_array_channel_bytes(CUarray_format format);

#endif
