/* SPDX-License-Identifier: MIT */
/* Hooks of captures and graphs. */
#include "preload/hook_call.h"

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
	if (recording &&                                                                           \
	    (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED))           \
		vt_hook_call_note(function, (uintptr_t)stream, 0,                                  \
		     result == CUDA_SUCCESS ? (uintptr_t)*graph : 0);                              \
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
	return result;                                                                             \
}

#define TO_GRAPH                                                                                   \
	(CUstream stream, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges,   \
	 size_t nr, CUstreamCaptureMode mode)
#define WITH_PARAMS (CUgraphExec *executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how)

BEGIN_CAPTURE(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode),
	(stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, TO_GRAPH, (stream, graph, nodes, edges, nr, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (stream, graph, nodes, edges, nr, mode))
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
