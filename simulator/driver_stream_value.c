/* SPDX-License-Identifier: MIT */
/*
 * Stream memory operations.  A write is done at once.  A wait is taken for satisfied: nobody else
 * could satisfy it later, since no kernel ever runs.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_stream.h"
#include "simulator/driver_transfer.h"

static CUresult write_value(CUstream stream, CUdeviceptr address, const void *value, size_t size)
{
	if (!vts_stream_is_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (address % size)
		return CUDA_ERROR_INVALID_VALUE;
	return vts_transfer_copy(address, (uintptr_t)value, size);
}

static CUresult wait_value(CUstream stream, CUdeviceptr address, size_t size)
{
	if (!vts_stream_is_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	return address && !(address % size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
			      unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(write_value(stream, address, &value, sizeof(value)));
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
				 unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(write_value(stream, address, &value, sizeof(value)));
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value,
			      unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(write_value(stream, address, &value, sizeof(value)));
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
				 unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(write_value(stream, address, &value, sizeof(value)));
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value,
			     unsigned int flags)
{
	(void)flags, (void)value;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(wait_value(stream, address, sizeof(value)));
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
				unsigned int flags)
{
	(void)flags, (void)value;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(wait_value(stream, address, sizeof(value)));
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value,
			     unsigned int flags)
{
	(void)flags, (void)value;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(wait_value(stream, address, sizeof(value)));
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
				unsigned int flags)
{
	(void)flags, (void)value;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(wait_value(stream, address, sizeof(value)));
}
