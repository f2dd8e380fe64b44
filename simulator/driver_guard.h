/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_GUARD_H
#define VTS_DRIVER_GUARD_H

/*
 * The captures in progress, and what they forbid: calls such as cudaMalloc, which might wait for
 * the captured work.  Needs the call mutex.
 */

#include "common/cuda_abi.h"

#include <pthread.h>

struct vts_graph;

struct vts_capture {
	uint64_t id;
	CUstreamCaptureMode mode;
	CUstreamCaptureStatus status;
	CUstream origin;
	pthread_t thread;
	struct vts_graph *graph;
	int owns_graph; /* not when captured into a graph of the program */
	struct vts_capture *next;
};

void vts_guard_add(struct vts_capture *capture);
void vts_guard_remove(struct vts_capture *capture);

/* NULL when it has ended. */
struct vts_capture *vts_guard_find(uint64_t id);

/* Sets the calling thread's mode (cuThreadExchangeStreamCaptureMode) and returns the old one. */
CUstreamCaptureMode vts_guard_exchange_mode(CUstreamCaptureMode mode);

/*
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED when a capture in progress forbids the calling thread such
 * a call; that capture is then invalid.
 */
CUresult vts_guard_check_unsafe(void);

/* The operation was not allowed: always CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. */
CUresult vts_guard_invalidate(struct vts_capture *capture);

#endif
