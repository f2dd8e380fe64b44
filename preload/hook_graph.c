/* SPDX-License-Identifier: MIT */
/* Hooks of captures and graphs. */
#include "preload/devices.h"
#include "preload/hook_call.h"
#include "preload/pools.h"
#include "preload/tracker.h"

/*
 * CUDA graphs: what an allocator gives out while a stream is captured belongs to the graph.  A
 * handle may be given out again as soon as it is destroyed, so that is recorded before the call, as
 * frees are; a refused one names a handle that was never alive.
 */
#define BEGIN_CAPTURE(name, parameters, arguments)                                                 \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (result == CUDA_SUCCESS)                                                                \
		vt_devices_count_captures(1);                                                      \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_note(function, (uintptr_t)stream, 0, 0);                              \
	return result;                                                                             \
}

/* A capture that something made invalid ends here as well, without a graph. */
#define END_CAPTURE(name)                                                                          \
CUresult name(CUstream stream, CUgraph *graph)                                                     \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real(stream, graph);                                                              \
	if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)             \
		vt_devices_count_captures(-1);                                                     \
	if (recording &&                                                                           \
	    (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED))           \
		vt_hook_call_note(function, (uintptr_t)stream, 0,                                  \
		     result == CUDA_SUCCESS ? (uintptr_t)*graph : 0);                              \
	if (recording)                                                                             \
		vt_pools_look();                                                                   \
	return result;                                                                             \
}

#define INSTANTIATE(name, parameters, arguments)                                                   \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_note(function, (uintptr_t)*executable, 0, (uintptr_t)graph);          \
	return result;                                                                             \
}

#define DESTROY(name, type)                                                                        \
CUresult name(type graph)                                                                          \
{                                                                                                  \
	HOOK(name);                                                                                \
	if (recording && graph)                                                                    \
		vt_hook_call_note(function, (uintptr_t)graph, 0, 0);                               \
	result = real(graph);                                                                      \
	if (recording)                                                                             \
		vt_pools_look();                                                                   \
	return result;                                                                             \
}

#define TO_GRAPH                                                                                   \
	(CUstream stream, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges,   \
	 size_t nr, CUstreamCaptureMode mode)
#define INTO_GRAPH                                                                                 \
	(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, void *callback, void *data)
#define WITH_PARAMS (CUgraphExec *executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how)

BEGIN_CAPTURE(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode),
	(stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, TO_GRAPH, (stream, graph, nodes, edges, nr, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (stream, graph, nodes, edges, nr, mode))
BEGIN_CAPTURE(cuStreamBeginRecaptureToGraph, INTO_GRAPH, (stream, mode, graph, callback, data))
END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)
INSTANTIATE(cuGraphInstantiate_v2,
	(CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t log_bytes),
	(executable, graph, node, log, log_bytes))
INSTANTIATE(cuGraphInstantiateWithFlags,
	(CUgraphExec *executable, CUgraph graph, unsigned long long flags),
	(executable, graph, flags))
INSTANTIATE(cuGraphInstantiateWithParams, WITH_PARAMS, (executable, graph, how))
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, WITH_PARAMS, (executable, graph, how))
DESTROY(cuGraphDestroy, CUgraph)
DESTROY(cuGraphExecDestroy, CUgraphExec)
INSTANTIATE(cuGraphInstantiate,
	(CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t log_bytes),
	(executable, graph, node, log, log_bytes))

/*
 * Memory of allocation nodes belongs to its graph: it has its address from now on, whatever frees
 * it between two runs, until the graph and all executables made of it are gone.
 */
static void note_memory(enum vt_real_function function, CUgraph graph,
	const CUDA_MEM_ALLOC_NODE_PARAMS *what)
{
	struct vt_event_record event = vt_hook_call_event(function, what->dptr, what->bytesize);

	if (what->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		event.device = what->poolProps.location.id;
	event.extra = (uintptr_t)graph;
	vt_tracker_open();
	vt_pools_follow_graphs(event.device);
	vt_tracker_event(&event);
	vt_devices_note(event.device, NULL, what->bytesize);
}

static void note_free_node(enum vt_real_function function, CUgraph graph, CUdeviceptr address)
{
	struct vt_event_record event = vt_hook_call_event(function, address, 0);

	event.op = VT_OP_FREE_NODE;
	event.extra = (uintptr_t)graph;
	vt_tracker_event(&event);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t nr, CUDA_MEM_ALLOC_NODE_PARAMS *what)
{
	HOOK(cuGraphAddMemAllocNode);

	result = real(node, graph, after, nr, what);
	if (recording && result == CUDA_SUCCESS)
		note_memory(function, graph, what);
	return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t nr, CUdeviceptr address)
{
	HOOK(cuGraphAddMemFreeNode);

	result = real(node, graph, after, nr, address);
	if (recording && result == CUDA_SUCCESS)
		note_free_node(function, graph, address);
	return result;
}

#define ADD_NODE(name, parameters, arguments)                                                      \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS && what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)     \
		note_memory(function, graph, &what->alloc);                                        \
	if (recording && result == CUDA_SUCCESS && what->type == CU_GRAPH_NODE_TYPE_MEM_FREE)      \
		note_free_node(function, graph, what->free.dptr);                                  \
	return result;                                                                             \
}

ADD_NODE(cuGraphAddNode,
	(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t nr,
	 CUgraphNodeParams *what),
	(node, graph, after, nr, what))
ADD_NODE(cuGraphAddNode_v2,
	(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
	 size_t nr, CUgraphNodeParams *what),
	(node, graph, after, edges, nr, what))
ADD_NODE(cuGraphAddNode_v3,
	(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
	 size_t nr, CUgraphNodeParams *what),
	(node, graph, after, edges, nr, what))

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	HOOK(cuDeviceGraphMemTrim);

	result = real(device);
	if (recording && result == CUDA_SUCCESS) {
		vt_pools_look();
		vt_hook_call_on_device(function, 0, device, 0);
	}
	return result;
}
