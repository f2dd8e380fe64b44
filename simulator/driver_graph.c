/* SPDX-License-Identifier: MIT */
#include "simulator/driver_graph.h"

#include "simulator/driver_device.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_live.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_size.h"
#include "simulator/driver_user_object.h"

#include <stdlib.h>

#define CHUNK_BYTES (32 * VTS_MIB) /* as the pools': assumed */

static struct {
	struct vts_graph_memory memory[VT_CARD_MAX_DEVICES];
} g;

struct kept_object {
	CUuserObject object;
	unsigned int count;
};

struct vts_graph_holdings {
	unsigned int nr_references; /* the graph and its executables */
	CUdeviceptr *addresses;
	size_t nr_addresses;
	struct kept_object *objects;
	size_t nr_objects;
};

struct vts_graph {
	CUgraph handle;
	struct vts_node **nodes;
	size_t nr_nodes;
	struct vts_graph_holdings *holdings;
};

struct vts_graph *vts_graph_find(CUgraph handle)
{
	return vts_handles_find(VTS_HANDLE_GRAPH, (uintptr_t)handle);
}

CUgraph vts_graph_handle(const struct vts_graph *graph)
{
	return graph->handle;
}

struct vts_graph *vts_graph_new(void)
{
	struct vts_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->holdings = calloc(1, sizeof(*graph->holdings));
	if (graph->holdings)
		graph->handle = (CUgraph)vts_handles_new(VTS_HANDLE_GRAPH, graph);
	if (!graph->handle) {
		free(graph->holdings);
		free(graph);
		return NULL;
	}
	graph->holdings->nr_references = 1;
	return graph;
}

static void free_node(struct vts_node *node)
{
	vts_handles_drop(VTS_HANDLE_NODE, (uintptr_t)node->handle);
	free(node->after);
	free(node);
}

void vts_graph_free(struct vts_graph *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++)
		free_node(graph->nodes[i]);
	vts_graph_let_go(graph->holdings);
	vts_handles_drop(VTS_HANDLE_GRAPH, (uintptr_t)graph->handle);
	free(graph->nodes);
	free(graph);
}

struct vts_node *vts_graph_node(CUgraphNode handle)
{
	return vts_handles_find(VTS_HANDLE_NODE, (uintptr_t)handle);
}

size_t vts_graph_count(const struct vts_graph *graph)
{
	return graph->nr_nodes;
}

struct vts_node *vts_graph_node_at(const struct vts_graph *graph, size_t index)
{
	return graph->nodes[index];
}

CUresult vts_graph_depend(CUgraphNode handle, CUgraphNode after)
{
	struct vts_node *node = vts_graph_node(handle);
	struct vts_node *earlier = vts_graph_node(after);
	CUgraphNode *list;

	if (!node || !earlier || node->graph != earlier->graph)
		return CUDA_ERROR_INVALID_VALUE;
	list = realloc(node->after, (node->nr_after + 1) * sizeof(*list));
	if (!list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	list[node->nr_after++] = after;
	node->after = list;
	return CUDA_SUCCESS;
}

static CUresult append(struct vts_graph *graph, struct vts_node *node)
{
	struct vts_node **nodes;

	nodes = realloc(graph->nodes, (graph->nr_nodes + 1) * sizeof(struct vts_node *));
	if (!nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph->nodes = nodes;
	node->handle = (CUgraphNode)vts_handles_new(VTS_HANDLE_NODE, node);
	if (!node->handle)
		return CUDA_ERROR_OUT_OF_MEMORY;
	nodes[graph->nr_nodes++] = node;
	return CUDA_SUCCESS;
}

CUresult vts_graph_add(struct vts_graph *graph, CUgraphNodeType type, const CUgraphNode *after,
		       size_t nr_after, CUgraphNode *out)
{
	struct vts_node *node;
	CUresult result;

	for (size_t i = 0; i < nr_after; i++)
		if (!vts_graph_node(after[i]) || vts_graph_node(after[i])->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	node = calloc(1, sizeof(*node));
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->graph = graph;
	node->type = type;
	result = append(graph, node);
	if (result) {
		free(node);
		return result;
	}
	for (size_t i = 0; i < nr_after && !result; i++)
		result = vts_graph_depend(node->handle, after[i]);
	*out = node->handle;
	return result;
}

static void forget_dependency(struct vts_node *node, CUgraphNode gone)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->nr_after; i++)
		if (node->after[i] != gone)
			node->after[kept++] = node->after[i];
	node->nr_after = kept;
}

CUresult vts_graph_drop_node(CUgraphNode handle)
{
	struct vts_node *node = vts_graph_node(handle);
	struct vts_graph *graph;
	size_t kept = 0;

	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	graph = node->graph;
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		if (graph->nodes[i] == node)
			continue;
		forget_dependency(graph->nodes[i], handle);
		graph->nodes[kept++] = graph->nodes[i];
	}
	graph->nr_nodes = kept;
	free_node(node);
	return CUDA_SUCCESS;
}

void vts_graph_set_host(CUgraphNode handle, CUhostFn function, void *data)
{
	struct vts_node *node = vts_graph_node(handle);

	node->host.function = function;
	node->host.data = data;
}

struct vts_graph_memory *vts_graph_memory(CUdevice device)
{
	if (!vts_device_at(device))
		return NULL;
	g.memory[device].arena.device = device;
	g.memory[device].arena.chunk_bytes = CHUNK_BYTES;
	return &g.memory[device];
}

static void note_use(struct vts_graph_memory *memory)
{
	if (memory->arena.used_bytes > memory->used_high_bytes)
		memory->used_high_bytes = memory->arena.used_bytes;
	if (memory->arena.reserved_bytes > memory->reserved_high_bytes)
		memory->reserved_high_bytes = memory->arena.reserved_bytes;
}

CUresult vts_graph_alloc(struct vts_graph *graph, CUdevice device, uint64_t size_bytes,
			 CUdeviceptr *address)
{
	struct vts_graph_holdings *holdings = graph->holdings;
	struct vts_graph_memory *memory = vts_graph_memory(device);
	struct vts_range range = { .size_bytes = size_bytes,
				   .span_bytes = size_bytes,
				   .kind = VTS_KIND_GRAPH,
				   .device = device };
	CUdeviceptr *addresses;
	CUresult result;

	if (!memory || !size_bytes || size_bytes > 1ULL << 46)
		return CUDA_ERROR_INVALID_VALUE;
	addresses = realloc(holdings->addresses,
			    (holdings->nr_addresses + 1) * sizeof(*addresses));
	if (!addresses)
		return CUDA_ERROR_OUT_OF_MEMORY;
	holdings->addresses = addresses;
	range.arena = &memory->arena;
	result = vts_arena_alloc(range.arena, size_bytes, &range.start);
	if (result)
		return result;
	result = vts_live_add(&range, (uintptr_t)graph->handle);
	if (result) {
		vts_arena_free(range.arena, range.start);
		return result;
	}
	note_use(memory);
	addresses[holdings->nr_addresses++] = range.start;
	*address = range.start;
	return CUDA_SUCCESS;
}

struct vts_graph_holdings *vts_graph_hold(struct vts_graph *graph)
{
	graph->holdings->nr_references++;
	return graph->holdings;
}

void vts_graph_let_go(struct vts_graph_holdings *holdings)
{
	if (--holdings->nr_references)
		return;
	for (size_t i = 0; i < holdings->nr_addresses; i++) {
		struct vts_range *range = vts_live_find_start(holdings->addresses[i]);

		if (range && range->kind == VTS_KIND_GRAPH)
			vts_live_drop(range, "freed-by-destroy", 0);
	}
	for (size_t i = 0; i < holdings->nr_objects; i++)
		vts_user_object_release(holdings->objects[i].object, holdings->objects[i].count);
	free(holdings->addresses);
	free(holdings->objects);
	free(holdings);
}

CUresult vts_graph_keep_object(struct vts_graph *graph, CUuserObject object, unsigned int count)
{
	struct vts_graph_holdings *holdings = graph->holdings;
	struct kept_object *objects;

	objects = realloc(holdings->objects, (holdings->nr_objects + 1) * sizeof(*objects));
	if (!objects)
		return CUDA_ERROR_OUT_OF_MEMORY;
	objects[holdings->nr_objects++] = (struct kept_object){ object, count };
	holdings->objects = objects;
	return CUDA_SUCCESS;
}

CUresult vts_graph_drop_object(struct vts_graph *graph, CUuserObject object, unsigned int count)
{
	for (size_t i = 0; i < graph->holdings->nr_objects; i++) {
		struct kept_object *kept = &graph->holdings->objects[i];

		if (kept->object != object || kept->count < count)
			continue;
		kept->count -= count;
		return vts_user_object_release(object, count);
	}
	return CUDA_ERROR_INVALID_VALUE;
}
