/* SPDX-License-Identifier: MIT */
/* The stream functions. */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_guard.h"
#include "simulator/driver_pool.h"
#include "simulator/driver_scope.h"

#include <string.h>

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(vts_stream_new(out, flags, VTS_STREAM_LEAST_PRIORITY));
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(vts_stream_new(out, flags, priority));
}

static CUresult destroy(CUstream handle)
{
	struct vts_stream *stream = vts_stream_find(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	vts_capture_drop_stream(stream);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(destroy(stream));
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(destroy(stream));
}

/* Waiting on a capturing stream breaks the capture. */
static CUresult settle(CUstream handle)
{
	struct vts_stream *stream = vts_stream_find(handle);

	if (!vts_stream_is_valid(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	return stream && stream->capture ? vts_guard_invalidate(stream->capture) : CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(settle(stream));
}

CUresult cuStreamSynchronize(CUstream stream)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	result = settle(stream);
	if (!result)
		vts_pool_synchronised(vts_scope_context()->device);
	return vts_call_leave(result);
}

/* A callback runs on the calling thread, after the call has let go of the driver. */
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
			     unsigned int flags)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	result = callback && !flags ? settle(stream) : CUDA_ERROR_INVALID_VALUE;
	vts_call_leave(result);
	if (!result)
		callback(stream, CUDA_SUCCESS, data);
	return result;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	CUresult result = CUDA_SUCCESS;
	int is_captured;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!function || !vts_stream_is_valid(stream))
		return vts_call_leave(function ? CUDA_ERROR_INVALID_HANDLE :
						 CUDA_ERROR_INVALID_VALUE);
	is_captured = vts_capture_host_node(stream, function, data, &result);
	vts_call_leave(result);
	if (!is_captured && !result)
		function(data);
	return result;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	const struct vts_stream *stream;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	stream = vts_stream_find(handle);
	if (!flags || !vts_stream_is_valid(handle))
		return vts_call_leave(flags ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*flags = stream ? stream->flags : 0;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
	const struct vts_stream *stream;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	stream = vts_stream_find(handle);
	if (!priority || !vts_stream_is_valid(handle))
		return vts_call_leave(priority ? CUDA_ERROR_INVALID_HANDLE :
						 CUDA_ERROR_INVALID_VALUE);
	*priority = stream ? stream->priority : 0;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context)
{
	const struct vts_stream *stream;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	stream = vts_stream_find(handle);
	if (!context || !vts_stream_is_valid(handle))
		return vts_call_leave(context ? CUDA_ERROR_INVALID_HANDLE :
						CUDA_ERROR_INVALID_VALUE);
	*context = stream ? vts_scope_find_id(stream->context)->handle :
			    vts_scope_context()->handle;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!id || !vts_stream_is_valid(handle))
		return vts_call_leave(id ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*id = (uintptr_t)handle;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	const struct vts_stream *stream;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	stream = vts_stream_find(handle);
	if (!device || !vts_stream_is_valid(handle))
		return vts_call_leave(device ? CUDA_ERROR_INVALID_HANDLE :
					       CUDA_ERROR_INVALID_VALUE);
	*device = stream ? stream->device : vts_scope_context()->device;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t size_bytes,
				unsigned int flags)
{
	(void)address, (void)size_bytes, (void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(vts_stream_is_valid(stream) ? CUDA_SUCCESS :
							    CUDA_ERROR_INVALID_HANDLE);
}

/* Attributes (cache windows, synchronisation policy) have no effect here and are not kept. */
CUresult cuStreamCopyAttributes(CUstream to, CUstream from)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(vts_stream_is_valid(to) && vts_stream_is_valid(from) ?
				      CUDA_SUCCESS :
				      CUDA_ERROR_INVALID_HANDLE);
}

#define ATTRIBUTE_VALUE_BYTES 64 /* size of the union of values */

CUresult cuStreamGetAttribute(CUstream stream, int attribute, void *value)
{
	(void)attribute;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!value || !vts_stream_is_valid(stream))
		return vts_call_leave(value ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	memset(value, 0, ATTRIBUTE_VALUE_BYTES);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuStreamSetAttribute(CUstream stream, int attribute, const void *value)
{
	(void)attribute;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!value || !vts_stream_is_valid(stream))
		return vts_call_leave(value ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(CUDA_SUCCESS);
}
