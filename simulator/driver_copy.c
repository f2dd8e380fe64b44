/* SPDX-License-Identifier: MIT */
/*
 * The copy and memset entry points.  All are done at once; an asynchronous one on a capturing
 * stream becomes a graph node instead.  Copies of and to arrays carry no bytes: arrays are an
 * account only.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_transfer.h"

static CUresult copy_now(CUdeviceptr to, CUdeviceptr from, size_t size_bytes)
{
	CUresult result = vts_call_leave(vts_transfer_copy(to, from, size_bytes));

	if (!result)
		vts_transfer_note_read(to, from, size_bytes);
	return result;
}

/* On a capturing stream: a node, and nothing moves. */
static CUresult copy_on(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t size_bytes)
{
	CUresult result;

	if (vts_capture_node(stream, CU_GRAPH_NODE_TYPE_MEMCPY, &result))
		return vts_call_leave(result);
	return copy_now(to, from, size_bytes);
}

static CUdeviceptr host(const void *address)
{
	return (uintptr_t)address;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size_bytes)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_now(to, from, size_bytes);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size_bytes, CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_on(stream, to, from, size_bytes);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size_bytes)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_now(to, host(from), size_bytes);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size_bytes, CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_on(stream, to, host(from), size_bytes);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size_bytes)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_now(host(to), from, size_bytes);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size_bytes, CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_on(stream, host(to), from, size_bytes);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size_bytes)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_now(to, from, size_bytes);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size_bytes, CUstream stream)
{
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_on(stream, to, from, size_bytes);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
		      CUcontext from_context, size_t size_bytes)
{
	(void)to_context, (void)from_context;
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_now(to, from, size_bytes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			   CUcontext from_context, size_t size_bytes, CUstream stream)
{
	(void)to_context, (void)from_context;
	VTS_ENTER_SIZED(VTS_NEEDS_CONTEXT, size_bytes);
	return copy_on(stream, to, from, size_bytes);
}
