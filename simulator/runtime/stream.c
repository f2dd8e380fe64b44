/* SPDX-License-Identifier: MIT */
/* Streams, events, capture and graphs: the handles are the driver's own. */
#include "runtime.h"

ENTRY(cudaStreamCreate, void **stream)
{
	return VTS_IN_CONTEXT(cuStreamCreate, stream, 0);
}

ENTRY(cudaStreamCreateWithFlags, void **stream, unsigned int flags)
{
	return VTS_IN_CONTEXT(cuStreamCreate, stream, flags);
}

ENTRY(cudaStreamCreateWithPriority, void **stream, unsigned int flags, int priority)
{
	return VTS_IN_CONTEXT(cuStreamCreateWithPriority, stream, flags, priority);
}

ENTRY(cudaStreamDestroy, void *stream)
{
	return VTS_IN_CONTEXT(cuStreamDestroy, stream);
}

ENTRY(cudaThreadExchangeStreamCaptureMode, int *mode)
{
	return VTS_INITIALIZED(cuThreadExchangeStreamCaptureMode, mode);
}

/* clang-format off */
ENTRY_PER_STREAM(cudaStreamSynchronize, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream),
	(driver, cuStreamSynchronize, stream))
ENTRY_PER_STREAM(cudaStreamQuery, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream),
	(driver, cuStreamQuery, stream))
ENTRY_PER_STREAM(cudaStreamWaitEvent, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, void *event, unsigned int flags),
	(driver, cuStreamWaitEvent, stream, event, flags))
ENTRY_PER_STREAM(cudaStreamGetPriority, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, int *priority),
	(driver, cuStreamGetPriority, stream, priority))
ENTRY_PER_STREAM(cudaStreamGetFlags, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, unsigned int *flags),
	(driver, cuStreamGetFlags, stream, flags))
ENTRY_PER_STREAM(cudaStreamAddCallback, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, void *callback, void *data, unsigned int flags),
	(driver, cuStreamAddCallback, stream, callback, data, flags))
ENTRY_PER_STREAM(cudaLaunchHostFunc, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, void *function, void *data),
	(driver, cuLaunchHostFunc, stream, function, data))
ENTRY_PER_STREAM(cudaStreamBeginCapture, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, int mode),
	(driver, cuStreamBeginCapture, stream, mode))
ENTRY_PER_STREAM(cudaStreamEndCapture, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, void **graph),
	(driver, cuStreamEndCapture, stream, graph))
ENTRY_PER_STREAM(cudaStreamIsCapturing, _ptsz, VTS_IN_CONTEXT_OF,
	(void *stream, int *status),
	(driver, cuStreamIsCapturing, stream, status))
ENTRY_PER_STREAM(cudaEventRecord, _ptsz, VTS_IN_CONTEXT_OF,
	(void *event, void *stream),
	(driver, cuEventRecord, event, stream))
ENTRY_PER_STREAM(cudaEventRecordWithFlags, _ptsz, VTS_IN_CONTEXT_OF,
	(void *event, void *stream, unsigned int flags),
	(driver, cuEventRecordWithFlags, event, stream, flags))
ENTRY_PER_STREAM(cudaGraphLaunch, _ptsz, VTS_IN_CONTEXT_OF,
	(void *exec, void *stream),
	(driver, cuGraphLaunch, exec, stream))
/* clang-format on */

#if VTS_CUDART_MAJOR >= 13
ENTRY(cudaStreamGetCaptureInfo, void *stream, int *status, uint64_t *id, void **graph,
      const void **nodes, const void **edges, size_t *count)
{
	return VTS_IN_CONTEXT(cuStreamGetCaptureInfo, stream, status, id, graph, nodes, edges,
			      count);
}

ENTRY(cudaStreamUpdateCaptureDependencies, void *stream, void *nodes, const void *edges,
      size_t count, unsigned int flags)
{
	return VTS_IN_CONTEXT(cuStreamUpdateCaptureDependencies, stream, nodes, edges, count,
			      flags);
}
#else
ENTRY(cudaStreamGetCaptureInfo, void *stream, int *status, uint64_t *id)
{
	return VTS_IN_CONTEXT(cuStreamGetCaptureInfo, stream, status, id, NULL, NULL, NULL);
}

ENTRY(cudaStreamGetCaptureInfo_v2, void *stream, int *status, uint64_t *id, void **graph,
      const void **nodes, size_t *count)
{
	return VTS_IN_CONTEXT(cuStreamGetCaptureInfo, stream, status, id, graph, nodes, count);
}

ENTRY(cudaStreamUpdateCaptureDependencies, void *stream, void *nodes, size_t count,
      unsigned int flags)
{
	return VTS_IN_CONTEXT(cuStreamUpdateCaptureDependencies, stream, nodes, count, flags);
}
#endif

ENTRY(cudaStreamBeginCaptureToGraph, void *stream, void *graph, const void *nodes,
      const void *edges, size_t count, int mode)
{
	return VTS_IN_CONTEXT(cuStreamBeginCaptureToGraph, stream, graph, nodes, edges, count,
			      mode);
}

ENTRY(cudaEventCreate, void **event)
{
	return VTS_IN_CONTEXT(cuEventCreate, event, 0);
}

ENTRY(cudaEventCreateWithFlags, void **event, unsigned int flags)
{
	return VTS_IN_CONTEXT(cuEventCreate, event, flags);
}

ENTRY(cudaEventDestroy, void *event)
{
	return VTS_IN_CONTEXT(cuEventDestroy, event);
}

ENTRY(cudaEventQuery, void *event)
{
	return VTS_IN_CONTEXT(cuEventQuery, event);
}

ENTRY(cudaEventSynchronize, void *event)
{
	return VTS_IN_CONTEXT(cuEventSynchronize, event);
}

ENTRY(cudaEventElapsedTime, float *milliseconds, void *start, void *end)
{
	return VTS_IN_CONTEXT(cuEventElapsedTime, milliseconds, start, end);
}

ENTRY(cudaGraphCreate, void **graph, unsigned int flags)
{
	return VTS_INITIALIZED(cuGraphCreate, graph, flags);
}

ENTRY(cudaGraphDestroy, void *graph)
{
	return VTS_INITIALIZED(cuGraphDestroy, graph);
}

#if VTS_CUDART_MAJOR >= 12
ENTRY(cudaGraphInstantiate, void **exec, void *graph, unsigned long long flags)
{
	return VTS_IN_CONTEXT(cuGraphInstantiateWithFlags, exec, graph, flags);
}
#else
ENTRY(cudaGraphInstantiate, void **exec, void *graph, void **node, char *log, size_t size)
{
	if (node)
		*node = NULL;
	if (log && size)
		*log = '\0';
	return VTS_IN_CONTEXT(cuGraphInstantiateWithFlags, exec, graph, 0ull);
}
#endif

ENTRY(cudaGraphInstantiateWithFlags, void **exec, void *graph, unsigned long long flags)
{
	return VTS_IN_CONTEXT(cuGraphInstantiateWithFlags, exec, graph, flags);
}

ENTRY(cudaGraphExecDestroy, void *exec)
{
	return VTS_INITIALIZED(cuGraphExecDestroy, exec);
}

ENTRY(cudaGraphGetNodes, void *graph, void **nodes, size_t *count)
{
	return VTS_INITIALIZED(cuGraphGetNodes, graph, nodes, count);
}

ENTRY(cudaGraphDebugDotPrint, void *graph, const char *path, unsigned int flags)
{
	return VTS_INITIALIZED(cuGraphDebugDotPrint, graph, path, flags);
}

ENTRY(cudaDeviceGetGraphMemAttribute, int device, int attribute, void *value)
{
	return VTS_INITIALIZED(cuDeviceGetGraphMemAttribute, device, attribute, value);
}

ENTRY(cudaDeviceSetGraphMemAttribute, int device, int attribute, void *value)
{
	return VTS_INITIALIZED(cuDeviceSetGraphMemAttribute, device, attribute, value);
}

ENTRY(cudaDeviceGraphMemTrim, int device)
{
	return VTS_INITIALIZED(cuDeviceGraphMemTrim, device);
}

ENTRY(cudaUserObjectCreate, void **object, void *data, void *destroy, unsigned int count,
      unsigned int flags)
{
	return VTS_INITIALIZED(cuUserObjectCreate, object, data, destroy, count, flags);
}

ENTRY(cudaUserObjectRelease, void *object, unsigned int count)
{
	return VTS_INITIALIZED(cuUserObjectRelease, object, count);
}

ENTRY(cudaGraphRetainUserObject, void *graph, void *object, unsigned int count, unsigned int flags)
{
	return VTS_INITIALIZED(cuGraphRetainUserObject, graph, object, count, flags);
}
