/* SPDX-License-Identifier: MIT */
/* The functions that build a graph by hand and look into one. */
#include "simulator/driver_call.h"
#include "simulator/driver_graph.h"

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
	struct vts_graph *graph;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!out || flags)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	graph = vts_graph_new();
	if (!graph)
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*out = vts_graph_handle(graph);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph handle)
{
	struct vts_graph *graph;

	VTS_ENTER(VTS_NEEDS_INIT);
	graph = vts_graph_find(handle);
	if (!graph)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	vts_graph_free(graph);
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult add(CUgraphNode *out, CUgraph handle, const CUgraphNode *after, size_t nr_after,
		    CUgraphNodeType type)
{
	struct vts_graph *graph = vts_graph_find(handle);

	if (!out || !graph || (nr_after && !after))
		return CUDA_ERROR_INVALID_VALUE;
	return vts_graph_add(graph, type, after, nr_after, out);
}

/* Nodes whose parameters have no effect here: what they would do, nothing does. */
#define PLAIN_NODE(function, node_type, ...)                                                       \
	CUresult function(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,               \
			  size_t nr_after, ##__VA_ARGS__)                                          \
	{                                                                                          \
		VTS_ENTER(VTS_NEEDS_INIT);                                                         \
		return vts_call_leave(add(out, graph, after, nr_after, node_type));                \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
PLAIN_NODE(cuGraphAddKernelNode, CU_GRAPH_NODE_TYPE_KERNEL, const void *parameters)
PLAIN_NODE(cuGraphAddKernelNode_v2, CU_GRAPH_NODE_TYPE_KERNEL, const void *parameters)
PLAIN_NODE(cuGraphAddMemcpyNode, CU_GRAPH_NODE_TYPE_MEMCPY, const CUDA_MEMCPY3D *parameters,
	   CUcontext context)
PLAIN_NODE(cuGraphAddMemsetNode, CU_GRAPH_NODE_TYPE_MEMSET, const void *parameters,
	   CUcontext context)
PLAIN_NODE(cuGraphAddChildGraphNode, CU_GRAPH_NODE_TYPE_GRAPH, CUgraph child)
PLAIN_NODE(cuGraphAddEmptyNode, CU_GRAPH_NODE_TYPE_EMPTY)
PLAIN_NODE(cuGraphAddEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CUevent event)
PLAIN_NODE(cuGraphAddEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUevent event)
#pragma GCC diagnostic pop

CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
			    size_t nr_after, const void *parameters)
{
	const struct vts_host_call *host = parameters; /* CUDA_HOST_NODE_PARAMS: function, data */
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!host || !host->function)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	result = add(out, graph, after, nr_after, CU_GRAPH_NODE_TYPE_HOST);
	if (!result)
		vts_graph_set_host(*out, host->function, host->data);
	return vts_call_leave(result);
}

static CUresult add_alloc(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
			  size_t nr_after, CUDA_MEM_ALLOC_NODE_PARAMS *parameters)
{
	CUdeviceptr address = 0;
	CUresult result;

	if (!parameters || !vts_graph_find(graph))
		return CUDA_ERROR_INVALID_VALUE;
	result = vts_graph_alloc(vts_graph_find(graph), parameters->poolProps.location.id,
				 parameters->bytesize, &address);
	if (!result)
		result = add(out, graph, after, nr_after, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	if (!result) {
		parameters->dptr = address;
		vts_graph_node(*out)->allocation = *parameters;
	}
	return result;
}

static CUresult add_free(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t nr_after,
			 CUdeviceptr address)
{
	CUresult result = add(out, graph, after, nr_after, CU_GRAPH_NODE_TYPE_MEM_FREE);

	if (!result)
		vts_graph_node(*out)->freed = address;
	return result;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
				size_t nr_after, CUDA_MEM_ALLOC_NODE_PARAMS *parameters)
{
	VTS_ENTER_SIZED(VTS_NEEDS_INIT, parameters ? parameters->bytesize : 0);
	return vts_call_leave(add_alloc(out, graph, after, nr_after, parameters));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
			       size_t nr_after, CUdeviceptr address)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(add_free(out, graph, after, nr_after, address));
}

/* Of all types those with memory, and the empty one. */
static CUresult add_any(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t nr_after,
			CUgraphNodeParams *what)
{
	if (!what)
		return CUDA_ERROR_INVALID_VALUE;
	switch (what->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return add_alloc(out, graph, after, nr_after, &what->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return add_free(out, graph, after, nr_after, what->free.dptr);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return add(out, graph, after, nr_after, CU_GRAPH_NODE_TYPE_EMPTY);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t nr_after,
			CUgraphNodeParams *what)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(add_any(out, graph, after, nr_after, what));
}

CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
			   const CUgraphEdgeData *edges, size_t nr_after, CUgraphNodeParams *what)
{
	(void)edges;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(add_any(out, graph, after, nr_after, what));
}

CUresult cuGraphAddNode_v3(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
			   const CUgraphEdgeData *edges, size_t nr_after, CUgraphNodeParams *what)
{
	(void)edges;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(add_any(out, graph, after, nr_after, what));
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *out)
{
	const struct vts_node *node;

	VTS_ENTER(VTS_NEEDS_INIT);
	node = vts_graph_node(handle);
	if (!out || !node || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*out = node->allocation;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *out)
{
	const struct vts_node *node;

	VTS_ENTER(VTS_NEEDS_INIT);
	node = vts_graph_node(handle);
	if (!out || !node || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*out = node->freed;
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult add_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				 size_t nr)
{
	CUresult result = CUDA_SUCCESS;

	if (!vts_graph_find(graph) || (nr && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < nr && !result; i++)
		result = vts_graph_depend(to[i], from[i]);
	return result;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				size_t nr)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(add_dependencies(graph, from, to, nr));
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edges, size_t nr)
{
	(void)edges;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(add_dependencies(graph, from, to, nr));
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_graph_drop_node(node));
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	const struct vts_node *node;

	VTS_ENTER(VTS_NEEDS_INIT);
	node = vts_graph_node(handle);
	if (!type || !node)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*type = node->type;
	return vts_call_leave(CUDA_SUCCESS);
}

/* *nr is the room on entry (when there is a list) and the number of nodes on return. */
static CUresult list_nodes(CUgraph handle, CUgraphNode *out, size_t *nr, int roots_only)
{
	const struct vts_graph *graph = vts_graph_find(handle);
	size_t found = 0;

	if (!graph || !nr)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < vts_graph_count(graph); i++) {
		const struct vts_node *node = vts_graph_node_at(graph, i);

		if (roots_only && node->nr_after)
			continue;
		if (out && found < *nr)
			out[found] = node->handle;
		found++;
	}
	*nr = found;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *nr)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(list_nodes(graph, nodes, nr, 0));
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *nr)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(list_nodes(graph, nodes, nr, 1));
}

static CUresult list_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *nr)
{
	const struct vts_graph *graph = vts_graph_find(handle);
	size_t found = 0;

	if (!graph || !nr)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < vts_graph_count(graph); i++) {
		const struct vts_node *node = vts_graph_node_at(graph, i);

		for (size_t k = 0; k < node->nr_after; k++, found++) {
			if (!from || !to || found >= *nr)
				continue;
			from[found] = node->after[k];
			to[found] = node->handle;
		}
	}
	*nr = found;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *nr)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(list_edges(graph, from, to, nr));
}

static void clear_edges(CUgraphEdgeData *edges, size_t nr)
{
	for (size_t i = 0; edges && i < nr; i++)
		edges[i] = (CUgraphEdgeData){ 0 };
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
			    CUgraphEdgeData *edges, size_t *nr)
{
	size_t room = nr ? *nr : 0;

	VTS_ENTER(VTS_NEEDS_INIT);
	clear_edges(edges, room);
	return vts_call_leave(list_edges(graph, from, to, nr));
}

static CUresult list_dependencies(CUgraphNode handle, CUgraphNode *out, size_t *nr)
{
	const struct vts_node *node = vts_graph_node(handle);

	if (!node || !nr)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; out && i < node->nr_after && i < *nr; i++)
		out[i] = node->after[i];
	*nr = node->nr_after;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *after, size_t *nr)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(list_dependencies(node, after, nr));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *after,
				       CUgraphEdgeData *edges, size_t *nr)
{
	size_t room = nr ? *nr : 0;

	VTS_ENTER(VTS_NEEDS_INIT);
	clear_edges(edges, room);
	return vts_call_leave(list_dependencies(node, after, nr));
}
