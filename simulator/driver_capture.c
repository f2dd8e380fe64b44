/* SPDX-License-Identifier: MIT */
#include "simulator/driver_capture.h"

#include "simulator/driver_call.h"
#include "simulator/driver_graph.h"
#include "simulator/driver_guard.h"

#include <stdlib.h>

static struct {
	uint64_t nr_begun;
} g;

static struct vts_stream *capturing(CUstream handle)
{
	struct vts_stream *stream = vts_stream_find(handle);

	return stream && stream->capture ? stream : NULL;
}

struct vts_graph *vts_capture_graph(CUstream handle)
{
	struct vts_stream *stream = capturing(handle);

	return stream ? stream->capture->graph : NULL;
}

uint64_t vts_capture_id(const struct vts_stream *stream)
{
	return stream->capture ? stream->capture->id : 0;
}

/* 0: not capturing.  Otherwise *result, and *node when that is CUDA_SUCCESS. */
static int add_node(CUstream handle, CUgraphNodeType type, CUgraphNode *node, CUresult *result)
{
	struct vts_stream *stream = capturing(handle);

	if (!stream)
		return 0;
	*result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
		*result = vts_graph_add(stream->capture->graph, type, &stream->last_node,
					stream->last_node ? 1 : 0, node);
	if (!*result)
		stream->last_node = *node;
	return 1;
}

int vts_capture_node(CUstream handle, CUgraphNodeType type, CUresult *result)
{
	CUgraphNode node;

	return add_node(handle, type, &node, result);
}

int vts_capture_host_node(CUstream handle, CUhostFn function, void *data, CUresult *result)
{
	CUgraphNode node;

	if (!add_node(handle, CU_GRAPH_NODE_TYPE_HOST, &node, result))
		return 0;
	if (!*result)
		vts_graph_set_host(node, function, data);
	return 1;
}

void vts_capture_join(struct vts_stream *stream, uint64_t capture_id, CUgraphNode after)
{
	struct vts_capture *capture = vts_guard_find(capture_id);

	if (!capture || stream->capture)
		return;
	stream->capture = capture;
	stream->last_node = after;
}

static CUresult begin(CUstream handle, CUstreamCaptureMode mode, struct vts_graph *graph,
		      CUgraphNode after)
{
	struct vts_stream *stream = vts_stream_find(handle);
	struct vts_capture *capture;

	/* The legacy stream cannot capture; the per-thread one is not offered. */
	if (!stream)
		return vts_stream_is_valid(handle) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED :
						     CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	capture = calloc(1, sizeof(*capture));
	if (capture)
		capture->graph = graph ? graph : vts_graph_new();
	if (!capture || !capture->graph) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->owns_graph = !graph;
	capture->id = ++g.nr_begun;
	capture->mode = mode;
	capture->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	capture->origin = handle;
	capture->thread = pthread_self();
	vts_guard_add(capture);
	stream->capture = capture;
	stream->last_node = after;
	return CUDA_SUCCESS;
}

/* Frees the capture and lets all its streams go. */
static void finish(struct vts_capture *capture)
{
	for (struct vts_stream *stream = NULL; (stream = vts_stream_next(stream));)
		if (stream->capture == capture) {
			stream->capture = NULL;
			stream->last_node = NULL;
		}
	vts_guard_remove(capture);
	free(capture);
}

void vts_capture_drop_stream(struct vts_stream *stream)
{
	struct vts_capture *capture = stream->capture;

	if (capture && capture->origin == stream->handle) {
		if (capture->owns_graph)
			vts_graph_free(capture->graph);
		finish(capture);
	}
	vts_stream_free(stream);
}

void vts_capture_drop_streams(unsigned int context)
{
	struct vts_stream *stream = vts_stream_next(NULL);

	while (stream) {
		struct vts_stream *next = vts_stream_next(stream);

		if (stream->context == context)
			vts_capture_drop_stream(stream);
		stream = next;
	}
}

static CUresult end(CUstream handle, CUgraph *out)
{
	struct vts_stream *stream = vts_stream_find(handle);
	struct vts_capture *capture = stream ? stream->capture : NULL;
	CUresult result = CUDA_SUCCESS;

	*out = NULL;
	if (!capture)
		return vts_stream_is_valid(handle) ? CUDA_ERROR_ILLEGAL_STATE :
						     CUDA_ERROR_INVALID_HANDLE;
	if (capture->origin != handle)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
	    !pthread_equal(capture->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
		*out = vts_graph_handle(capture->graph);
	else
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (result && capture->owns_graph)
		vts_graph_free(capture->graph);
	finish(capture);
	return result;
}

CUresult cuStreamBeginCapture(CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL));
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(begin(stream, mode, NULL, NULL));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after,
				     const CUgraphEdgeData *edges, size_t nr_after,
				     CUstreamCaptureMode mode)
{
	(void)edges;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!vts_graph_find(graph) || (nr_after && !after))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(
		begin(stream, mode, vts_graph_find(graph), nr_after ? after[nr_after - 1] : NULL));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!graph)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(end(stream, graph));
}

struct info {
	CUstreamCaptureStatus *status;
	uint64_t *id;
	CUgraph *graph;
	const CUgraphNode **after;
	size_t *nr_after;
};

static CUresult get_info(CUstream handle, const struct info *out)
{
	struct vts_stream *stream = capturing(handle);

	if (!out->status)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vts_stream_is_valid(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*out->status = stream ? stream->capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
	if (!stream)
		return CUDA_SUCCESS;
	if (out->id)
		*out->id = stream->capture->id;
	if (out->graph)
		*out->graph = vts_graph_handle(stream->capture->graph);
	if (out->after)
		*out->after = &stream->last_node;
	if (out->nr_after)
		*out->nr_after = stream->last_node ? 1 : 0;
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	struct info out = { .status = status };

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(get_info(stream, &out));
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id)
{
	struct info out = { .status = status, .id = id };

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(get_info(stream, &out));
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
				   CUgraph *graph, const CUgraphNode **after, size_t *nr_after)
{
	struct info out = { status, id, graph, after, nr_after };

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(get_info(stream, &out));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
				   CUgraph *graph, const CUgraphNode **after,
				   const CUgraphEdgeData **edges, size_t *nr_after)
{
	struct info out = { status, id, graph, after, nr_after };

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (edges)
		*edges = NULL;
	return vts_call_leave(get_info(stream, &out));
}

/* Of several dependencies the last is kept: the order of nodes has no effect here. */
static CUresult update(CUstream handle, const CUgraphNode *nodes, size_t nr_nodes)
{
	struct vts_stream *stream = capturing(handle);

	if (!stream)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (nr_nodes && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	stream->last_node = nr_nodes ? nodes[nr_nodes - 1] : stream->last_node;
	return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t nr_nodes,
					   unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(update(stream, nodes, nr_nodes));
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes,
					      const CUgraphEdgeData *edges, size_t nr_nodes,
					      unsigned int flags)
{
	(void)flags, (void)edges;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(update(stream, nodes, nr_nodes));
}

/* The graph would have to be made again node by node: not simulated. */
CUresult cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
				       void *callback, void *data)
{
	(void)stream, (void)mode, (void)graph, (void)callback, (void)data;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*mode = vts_guard_exchange_mode(*mode);
	return vts_call_leave(CUDA_SUCCESS);
}
