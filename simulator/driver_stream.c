/* SPDX-License-Identifier: MIT */
#include "simulator/driver_stream.h"

#include "simulator/driver_handles.h"
#include "simulator/driver_scope.h"

#include <stdlib.h>

struct vts_stream *vts_stream_find(CUstream handle)
{
	return vts_handles_find(VTS_HANDLE_STREAM, (uintptr_t)handle);
}

int vts_stream_is_valid(CUstream handle)
{
	return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD ||
	       vts_stream_find(handle);
}

struct vts_stream *vts_stream_next(const struct vts_stream *after)
{
	uintptr_t handle = vts_handles_next(VTS_HANDLE_STREAM,
					    after ? (uintptr_t)after->handle : 0);

	return handle ? vts_handles_find(VTS_HANDLE_STREAM, handle) : NULL;
}

void vts_stream_free(struct vts_stream *stream)
{
	vts_handles_drop(VTS_HANDLE_STREAM, (uintptr_t)stream->handle);
	free(stream);
}

CUresult vts_stream_new(CUstream *out, unsigned int flags, int priority)
{
	struct vts_stream *stream;

	if (!out || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	stream = calloc(1, sizeof(*stream));
	if (stream)
		stream->handle = (CUstream)vts_handles_new(VTS_HANDLE_STREAM, stream);
	if (!stream || !stream->handle) {
		free(stream);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (priority > VTS_STREAM_LEAST_PRIORITY)
		priority = VTS_STREAM_LEAST_PRIORITY;
	if (priority < VTS_STREAM_GREATEST_PRIORITY)
		priority = VTS_STREAM_GREATEST_PRIORITY;
	stream->flags = flags;
	stream->priority = priority;
	stream->context = vts_scope_context()->id;
	stream->device = vts_scope_context()->device;
	*out = stream->handle;
	return CUDA_SUCCESS;
}
