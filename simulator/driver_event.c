/* SPDX-License-Identifier: MIT */
/* Events.  Recorded is complete; the time between two is the host's. */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_pool.h"
#include "simulator/driver_stream.h"

#include <stdlib.h>
#include <time.h>

#define MAX_FLAGS 7

struct event {
	unsigned int flags;
	int is_recorded;
	uint64_t time_ns;
	uint64_t capture_id; /* 0: not recorded in a capture */
	CUgraphNode node;    /* what a waiting stream then depends on */
};

static struct event *find(CUevent handle)
{
	return vts_handles_find(VTS_HANDLE_EVENT, (uintptr_t)handle);
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
	struct event *event;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!out || flags > MAX_FLAGS)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	event = calloc(1, sizeof(*event));
	*out = event ? (CUevent)vts_handles_new(VTS_HANDLE_EVENT, event) : NULL;
	if (!*out) {
		free(event);
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	event->flags = flags;
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult destroy(CUevent handle)
{
	struct event *event = find(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	vts_handles_drop(VTS_HANDLE_EVENT, (uintptr_t)handle);
	free(event);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(destroy(event));
}

CUresult cuEventDestroy_v2(CUevent event)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(destroy(event));
}

static CUresult record(CUevent handle, CUstream stream_handle)
{
	struct vts_stream *stream = vts_stream_find(stream_handle);
	struct event *event = find(handle);
	struct timespec now;

	if (!event || !vts_stream_is_valid(stream_handle))
		return CUDA_ERROR_INVALID_HANDLE;
	clock_gettime(CLOCK_MONOTONIC, &now);
	event->time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	event->is_recorded = 1;
	event->capture_id = stream ? vts_capture_id(stream) : 0;
	event->node = stream ? stream->last_node : NULL;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(record(event, stream));
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (flags > 1)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(record(event, stream));
}

/* Waiting for an event of a capture draws the stream into it. */
CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
	struct vts_stream *stream;
	struct event *event;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	stream = vts_stream_find(stream_handle);
	event = find(handle);
	if (!event || !vts_stream_is_valid(stream_handle) || flags > 1)
		return vts_call_leave(flags > 1 ? CUDA_ERROR_INVALID_VALUE :
						  CUDA_ERROR_INVALID_HANDLE);
	if (stream && event->capture_id)
		vts_capture_join(stream, event->capture_id, event->node);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent event)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(find(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuEventSynchronize(CUevent event)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!find(event))
		return vts_call_leave(CUDA_ERROR_INVALID_HANDLE);
	vts_pool_synchronised(vts_scope_context()->device);
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult elapsed(float *time_ms, CUevent start_handle, CUevent end_handle)
{
	const struct event *start = find(start_handle);
	const struct event *end = find(end_handle);

	if (!time_ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!start || !end || !start->is_recorded || !end->is_recorded ||
	    ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	*time_ms = (float)((double)(int64_t)(end->time_ns - start->time_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *time_ms, CUevent start, CUevent end)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(elapsed(time_ms, start, end));
}

CUresult cuEventElapsedTime_v2(float *time_ms, CUevent start, CUevent end)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(elapsed(time_ms, start, end));
}
