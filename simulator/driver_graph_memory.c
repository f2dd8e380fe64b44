/* SPDX-License-Identifier: MIT */
/* What graphs keep: the account of their memory, and their references to user objects. */
#include "simulator/driver_call.h"
#include "simulator/driver_graph.h"
#include "simulator/driver_user_object.h"

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	struct vts_graph_memory *memory;

	VTS_ENTER(VTS_NEEDS_INIT);
	memory = vts_graph_memory(device);
	if (!memory)
		return vts_call_leave(CUDA_ERROR_INVALID_DEVICE);
	vts_arena_trim(&memory->arena, 0);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *out)
{
	const struct vts_graph_memory *memory;
	uint64_t *bytes = out;

	VTS_ENTER(VTS_NEEDS_INIT);
	memory = vts_graph_memory(device);
	if (!memory || !out)
		return vts_call_leave(memory ? CUDA_ERROR_INVALID_VALUE :
						CUDA_ERROR_INVALID_DEVICE);
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		*bytes = memory->arena.used_bytes;
		return vts_call_leave(CUDA_SUCCESS);
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		*bytes = memory->used_high_bytes;
		return vts_call_leave(CUDA_SUCCESS);
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*bytes = memory->arena.reserved_bytes;
		return vts_call_leave(CUDA_SUCCESS);
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*bytes = memory->reserved_high_bytes;
		return vts_call_leave(CUDA_SUCCESS);
	}
	return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
}

/* High-water marks can only be reset to the present. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	struct vts_graph_memory *memory;

	VTS_ENTER(VTS_NEEDS_INIT);
	memory = vts_graph_memory(device);
	if (!memory || !value || *(uint64_t *)value)
		return vts_call_leave(memory ? CUDA_ERROR_INVALID_VALUE :
						CUDA_ERROR_INVALID_DEVICE);
	if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		memory->used_high_bytes = memory->arena.used_bytes;
	else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		memory->reserved_high_bytes = memory->arena.reserved_bytes;
	else
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object, unsigned int count,
				 unsigned int flags)
{
	enum { MOVE = 1 };
	struct vts_graph *graph;
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	graph = vts_graph_find(handle);
	if (!vts_user_object_exists(object) || !graph || !count || flags > MOVE)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	result = vts_graph_keep_object(graph, object, count);
	if (!result && flags != MOVE)
		result = vts_user_object_retain(object, count);
	return vts_call_leave(result);
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object, unsigned int count)
{
	struct vts_graph *graph;

	VTS_ENTER(VTS_NEEDS_INIT);
	graph = vts_graph_find(handle);
	if (!graph || !count)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(vts_graph_drop_object(graph, object, count));
}
