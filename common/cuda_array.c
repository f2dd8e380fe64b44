/* SPDX-License-Identifier: MIT */
#include "common/cuda_array.h"

uint64_t vt_cuda_array_channel_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	}
	return 0;
}

static uint64_t at_least_one(size_t extent)
{
	return extent ? extent : 1;
}

uint64_t vt_cuda_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int nr_levels)
{
	uint64_t level = shape->Width * at_least_one(shape->Height) * at_least_one(shape->Depth) *
			 shape->NumChannels * vt_cuda_array_channel_bytes(shape->Format);
	uint64_t sum = level;

	if (shape->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	while (nr_levels-- > 1) {
		level /= 4;
		sum += level;
	}
	return sum;
}
