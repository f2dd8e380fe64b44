/* SPDX-License-Identifier: MIT */
/* The memset entry points. */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_transfer.h"

static CUresult set_rows(CUdeviceptr to, size_t pitch, uint32_t value, unsigned int element_bytes,
			 size_t width, size_t height)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t row = 0; row < height && !result; row++)
		result = vts_transfer_set(to + row * pitch, value, element_bytes, width);
	return vts_call_leave(result);
}

static CUresult set_on(CUstream stream, CUdeviceptr to, size_t pitch, uint32_t value,
		       unsigned int element_bytes, size_t width, size_t height)
{
	CUresult result;

	if (vts_capture_node(stream, CU_GRAPH_NODE_TYPE_MEMSET, &result))
		return vts_call_leave(result);
	return set_rows(to, pitch, value, element_bytes, width, height);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_rows(to, 0, value, 1, count, 1);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_on(stream, to, 0, value, 1, count, 1);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			 size_t height)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_rows(to, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			   size_t height, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_on(stream, to, pitch, value, 1, width, height);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_rows(to, 0, value, 2, count, 1);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_on(stream, to, 0, value, 2, count, 1);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
			  size_t height)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_rows(to, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
			    size_t height, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_on(stream, to, pitch, value, 2, width, height);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_rows(to, 0, value, 4, count, 1);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_on(stream, to, 0, value, 4, count, 1);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
			  size_t height)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_rows(to, pitch, value, 4, width, height);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
			    size_t height, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return set_on(stream, to, pitch, value, 4, width, height);
}
