/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_CAPTURE_H
#define VTS_DRIVER_CAPTURE_H

/* Stream capture: which streams record into which graph.  Needs the call mutex. */

#include "simulator/driver_stream.h"

struct vts_graph;

/*
 * Adds a node when the stream is capturing.  Returns 1 when it is (*result says how it went), 0
 * when the operation has to be done.
 */
int vts_capture_node(CUstream stream, CUgraphNodeType type, CUresult *result);
int vts_capture_host_node(CUstream stream, CUhostFn function, void *data, CUresult *result);

/* The graph that a capturing stream records into, else NULL. */
struct vts_graph *vts_capture_graph(CUstream stream);

/* 0 when the stream is not capturing. */
uint64_t vts_capture_id(const struct vts_stream *stream);

/* Draws a stream into a capture that is still going on. */
void vts_capture_join(struct vts_stream *stream, uint64_t capture_id, CUgraphNode after);

/* Drops a stream, or those of a context; a capture that began there ends without a graph. */
void vts_capture_drop_stream(struct vts_stream *stream);
void vts_capture_drop_streams(unsigned int context);

#endif
