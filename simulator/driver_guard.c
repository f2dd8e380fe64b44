/* SPDX-License-Identifier: MIT */
#include "simulator/driver_guard.h"

static struct {
	struct vts_capture *active;
} g;

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void vts_guard_add(struct vts_capture *capture)
{
	capture->next = g.active;
	g.active = capture;
}

void vts_guard_remove(struct vts_capture *capture)
{
	struct vts_capture **link = &g.active;

	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
}

struct vts_capture *vts_guard_find(uint64_t id)
{
	struct vts_capture *capture = g.active;

	while (capture && capture->id != id)
		capture = capture->next;
	return capture;
}

CUstreamCaptureMode vts_guard_exchange_mode(CUstreamCaptureMode mode)
{
	CUstreamCaptureMode old = thread_mode;

	thread_mode = mode;
	return old;
}

CUresult vts_guard_invalidate(struct vts_capture *capture)
{
	capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* The rule of cuThreadExchangeStreamCaptureMode: whose captures this thread has to respect. */
CUresult vts_guard_check_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;

	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	for (struct vts_capture *capture = g.active; capture; capture = capture->next) {
		int is_mine = pthread_equal(capture->thread, pthread_self());

		if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			continue;
		if (is_mine || (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
				thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL))
			result = vts_guard_invalidate(capture);
	}
	return result;
}
