/* SPDX-License-Identifier: MIT */
/*
 * Copies of rectangles and boxes: cuMemcpy2D and cuMemcpy3D.  A side that is an array carries no
 * bytes (arrays are an account only): the copy succeeds and moves nothing.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_transfer.h"

/* One side of a copy, as an address of its first byte. */
struct side {
	CUdeviceptr start;
	size_t pitch;
	size_t slice; /* bytes from one plane to the next */
};

struct box {
	struct side to, from;
	size_t width_bytes, height, depth;
	int is_array;
};

static CUdeviceptr address_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
}

static struct box from_2d(const CUDA_MEMCPY2D *copy)
{
	struct box box = {
		.to = { .start = address_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
			.pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes },
		.from = { .start = address_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
			  .pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes },
		.width_bytes = copy->WidthInBytes,
		.height = copy->Height,
		.depth = 1,
		.is_array = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
			    copy->dstMemoryType == CU_MEMORYTYPE_ARRAY,
	};

	box.to.start += copy->dstY * box.to.pitch + copy->dstXInBytes;
	box.from.start += copy->srcY * box.from.pitch + copy->srcXInBytes;
	return box;
}

static struct box from_3d(const CUDA_MEMCPY3D *copy)
{
	struct box box = {
		.to = { .start = address_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
			.pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes },
		.from = { .start = address_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
			  .pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes },
		.width_bytes = copy->WidthInBytes,
		.height = copy->Height,
		.depth = copy->Depth,
		.is_array = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
			    copy->dstMemoryType == CU_MEMORYTYPE_ARRAY,
	};

	box.to.slice = box.to.pitch * (copy->dstHeight ? copy->dstHeight : copy->Height);
	box.from.slice = box.from.pitch * (copy->srcHeight ? copy->srcHeight : copy->Height);
	box.to.start += copy->dstZ * box.to.slice + copy->dstY * box.to.pitch + copy->dstXInBytes;
	box.from.start +=
		copy->srcZ * box.from.slice + copy->srcY * box.from.pitch + copy->srcXInBytes;
	return box;
}

static CUresult copy_box(const struct box *box)
{
	CUresult result = CUDA_SUCCESS;

	if (box->is_array)
		return CUDA_SUCCESS;
	for (size_t z = 0; z < box->depth; z++)
		for (size_t y = 0; y < box->height && !result; y++)
			result = vts_transfer_copy(
				box->to.start + z * box->to.slice + y * box->to.pitch,
				box->from.start + z * box->from.slice + y * box->from.pitch,
				box->width_bytes);
	return result;
}

static CUresult copy_box_on(CUstream stream, const struct box *box)
{
	CUresult result;

	if (vts_capture_node(stream, CU_GRAPH_NODE_TYPE_MEMCPY, &result))
		return result;
	return copy_box(box);
}

/* Nothing here depends on how a pitch is aligned, so both entry points are this. */
static CUresult copy_2d(const CUDA_MEMCPY2D *copy)
{
	struct box box;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	box = from_2d(copy);
	return copy_box(&box);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(copy_2d(copy));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(copy_2d(copy));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	struct box box;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!copy)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	box = from_2d(copy);
	return vts_call_leave(copy_box_on(stream, &box));
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
	struct box box;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!copy)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	box = from_3d(copy);
	return vts_call_leave(copy_box(&box));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	struct box box;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!copy)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	box = from_3d(copy);
	return vts_call_leave(copy_box_on(stream, &box));
}
