/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_STREAM_H
#define VTS_DRIVER_STREAM_H

/* Streams.  Work is complete as soon as it is issued.  Needs the call mutex. */

#include "common/cuda_abi.h"

/* What cards since compute capability 7.0 have. */
#define VTS_STREAM_LEAST_PRIORITY    0
#define VTS_STREAM_GREATEST_PRIORITY (-5)

struct vts_capture;

struct vts_stream {
	CUstream handle;
	unsigned int flags;
	int priority;
	unsigned int context; /* id */
	CUdevice device;
	struct vts_capture *capture; /* NULL: not capturing */
	CUgraphNode last_node;	     /* what the next captured operation depends on */
};

/* A created stream, or NULL for a default stream and for no stream at all. */
struct vts_stream *vts_stream_find(CUstream handle);

/* A created or a default stream. */
int vts_stream_is_valid(CUstream handle);

/* Walks the created streams; NULL starts. */
struct vts_stream *vts_stream_next(const struct vts_stream *after);

/* Makes one of the current context; a priority out of range is brought into it. */
CUresult vts_stream_new(CUstream *out, unsigned int flags, int priority);
void vts_stream_free(struct vts_stream *stream);

#endif
