/* SPDX-License-Identifier: MIT */
/* CUDA arrays: their memory is accounted, their contents are not kept. */
#include "simulator/driver_array.h"

#include "common/cuda_array.h"
#include "simulator/driver_call.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_device.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_size.h"
#include "simulator/driver_space.h"

#include <stdlib.h>

struct array {
	CUDA_ARRAY3D_DESCRIPTOR shape;
	uint64_t size_bytes;
	CUdevice device;
	unsigned int context;	/* id of the owning one */
	int is_foreign;		/* charged to somebody else */
	unsigned int nr_levels; /* of a mipmapped array; 0: a plain one */
};

static void write_ledger(const struct array *array, uintptr_t handle, const char *op)
{
	struct vts_ledger_entry entry = {
		.op = op,
		.kind = array->is_foreign ? "external" : "array",
		.pointer = handle,
		.size_bytes = array->size_bytes,
		.device = array->is_foreign ? -1 : array->device,
	};

	vts_ledger_write(&entry);
}

static CUresult charge(const struct array *array)
{
	return array->is_foreign ? CUDA_SUCCESS :
				   vts_device_charge(array->device,
						     vts_size_round_up(array->size_bytes,
								       VTS_SPACE_GRANULE));
}

static void discharge(const struct array *array)
{
	if (!array->is_foreign)
		vts_device_discharge(array->device, vts_size_round_up(array->size_bytes,
								      VTS_SPACE_GRANULE));
}

static CUresult create(uintptr_t *handle, const CUDA_ARRAY3D_DESCRIPTOR *shape,
		       unsigned int nr_levels, int is_foreign)
{
	const struct array wanted = {
		.shape = *shape,
		.size_bytes = vt_cuda_array_bytes(shape, nr_levels),
		.device = vts_scope_context()->device,
		.context = vts_scope_context()->id,
		.is_foreign = is_foreign,
		.nr_levels = nr_levels,
	};
	struct array *array;
	CUresult result;

	if (!shape->Width || !vt_cuda_array_channel_bytes(shape->Format) || !shape->NumChannels)
		return CUDA_ERROR_INVALID_VALUE;
	result = charge(&wanted);
	if (result)
		return result;
	array = malloc(sizeof(*array));
	*handle = array ? vts_handles_new(VTS_HANDLE_ARRAY, array) : 0;
	if (!*handle) {
		free(array);
		discharge(&wanted);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*array = wanted;
	write_ledger(array, *handle, "alloc");
	return CUDA_SUCCESS;
}

static void drop(struct array *array, uintptr_t handle, const char *op)
{
	discharge(array);
	write_ledger(array, handle, op);
	vts_handles_drop(VTS_HANDLE_ARRAY, handle);
	free(array);
}

static CUresult destroy(uintptr_t handle, int is_mipmapped)
{
	struct array *array = vts_handles_find(VTS_HANDLE_ARRAY, handle);

	if (!array || !!array->nr_levels != is_mipmapped)
		return CUDA_ERROR_INVALID_HANDLE;
	drop(array, handle, "free");
	return CUDA_SUCCESS;
}

void vts_array_drop_context(unsigned int context)
{
	uintptr_t handle = 0;

	while ((handle = vts_handles_next(VTS_HANDLE_ARRAY, handle))) {
		struct array *array = vts_handles_find(VTS_HANDLE_ARRAY, handle);

		if (array->context == context)
			drop(array, handle, "freed-by-destroy");
	}
}

CUresult vts_array_new_foreign(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape,
			       unsigned int nr_levels)
{
	return create((uintptr_t *)out, shape, nr_levels, 1);
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *shape)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = { 0 };

	VTS_ENTER(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE);
	if (!out || !shape)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	whole.Width = shape->Width;
	whole.Height = shape->Height;
	whole.Format = shape->Format;
	whole.NumChannels = shape->NumChannels;
	return vts_call_leave(create((uintptr_t *)out, &whole, 0, 0));
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE);
	if (!out || !shape)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(create((uintptr_t *)out, shape, 0, 0));
}

CUresult cuArrayDestroy(CUarray handle)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(destroy((uintptr_t)handle, 0));
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape,
				unsigned int nr_levels)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE);
	if (!out || !shape || !nr_levels || nr_levels > 32)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(create((uintptr_t *)out, shape, nr_levels, 0));
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(destroy((uintptr_t)handle, 1));
}

/* A level owns nothing; its handle is the whole array's. */
CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level)
{
	const struct array *array;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	array = vts_handles_find(VTS_HANDLE_ARRAY, (uintptr_t)handle);
	if (!out || !array || level >= array->nr_levels)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*out = (CUarray)(uintptr_t)handle;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *shape, CUarray handle)
{
	const struct array *array;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	array = vts_handles_find(VTS_HANDLE_ARRAY, (uintptr_t)handle);
	if (!array || !shape)
		return vts_call_leave(shape ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	shape->Width = array->shape.Width;
	shape->Height = array->shape.Height;
	shape->Format = array->shape.Format;
	shape->NumChannels = array->shape.NumChannels;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray handle)
{
	const struct array *array;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	array = vts_handles_find(VTS_HANDLE_ARRAY, (uintptr_t)handle);
	if (!array || !shape)
		return vts_call_leave(shape ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*shape = array->shape;
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, uintptr_t handle)
{
	const struct array *array = vts_handles_find(VTS_HANDLE_ARRAY, handle);

	if (!array || !out)
		return out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*out = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
		.size = vts_size_round_up(vt_cuda_array_bytes(&array->shape, array->nr_levels),
					  VTS_SPACE_GRANULE),
		.alignment = VTS_SPACE_GRANULE,
	};
	return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle,
				      CUdevice device)
{
	(void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(requirements(out, (uintptr_t)handle));
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
					       CUmipmappedArray handle, CUdevice device)
{
	(void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(requirements(out, (uintptr_t)handle));
}
