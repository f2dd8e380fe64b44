/* SPDX-License-Identifier: MIT */
/*
 * Hooks of CUDA arrays (textures, surfaces).  Their handle is stored where other memory has an
 * address; a level of a mipmapped array has no separate memory.
 */
#include "common/cuda_array.h"
#include "preload/hook_call.h"

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *shape)
{
	HOOK(cuArrayCreate_v2);

	result = real(array, shape);
	if (recording && result == CUDA_SUCCESS) {
		CUDA_ARRAY3D_DESCRIPTOR whole = {
			.Width = shape->Width,
			.Height = shape->Height,
			.Format = shape->Format,
			.NumChannels = shape->NumChannels,
		};

		vt_hook_call_in_context(function, (uintptr_t)*array,
					vt_cuda_array_bytes(&whole, 0));
	}
	return result;
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	HOOK(cuArray3DCreate_v2);

	result = real(array, shape);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_in_context(function, (uintptr_t)*array,
					vt_cuda_array_bytes(shape, 0));
	return result;
}

CUresult cuArrayDestroy(CUarray array)
{
	HOOK(cuArrayDestroy);

	FREE(real(array), array, 0, NULL);
	return result;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape,
	unsigned int nr_levels)
{
	HOOK(cuMipmappedArrayCreate);

	result = real(array, shape, nr_levels);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_in_context(function, (uintptr_t)*array,
					vt_cuda_array_bytes(shape, nr_levels));
	return result;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	HOOK(cuMipmappedArrayDestroy);

	FREE(real(array), array, 0, NULL);
	return result;
}
