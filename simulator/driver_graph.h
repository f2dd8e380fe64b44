/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_GRAPH_H
#define VTS_DRIVER_GRAPH_H

/*
 * Graphs: nodes, their dependencies, and what a graph keeps alive.  Launching one runs its host
 * functions and nothing else.  Memory of allocation nodes is charged when the node is made, not at
 * launch, and lives until it is freed or the graph and all that was instantiated from it are
 * destroyed.
 *
 * Needs the call mutex.
 */

#include "simulator/driver_arena.h"

struct vts_graph;

/* What a graph and its executables share. */
struct vts_graph_holdings;

struct vts_host_call {
	CUhostFn function;
	void *data;
};

struct vts_node {
	CUgraphNode handle;
	struct vts_graph *graph;
	CUgraphNodeType type;
	CUgraphNode *after;
	size_t nr_after;
	struct vts_host_call host;
	CUDA_MEM_ALLOC_NODE_PARAMS allocation; /* of an allocation node */
	CUdeviceptr freed;		       /* of a free node */
};

struct vts_graph *vts_graph_new(void);
void vts_graph_free(struct vts_graph *graph);
struct vts_graph *vts_graph_find(CUgraph handle);
CUgraph vts_graph_handle(const struct vts_graph *graph);

/* The node's number is given out; CUDA_ERROR_INVALID_VALUE for dependencies of another graph. */
CUresult vts_graph_add(struct vts_graph *graph, CUgraphNodeType type, const CUgraphNode *after,
		       size_t nr_after, CUgraphNode *out);
CUresult vts_graph_depend(CUgraphNode node, CUgraphNode after);
void vts_graph_set_host(CUgraphNode node, CUhostFn function, void *data);
struct vts_node *vts_graph_node(CUgraphNode handle);
CUresult vts_graph_drop_node(CUgraphNode handle);

/* The nodes in order of creation. */
size_t vts_graph_count(const struct vts_graph *graph);
struct vts_node *vts_graph_node_at(const struct vts_graph *graph, size_t index);

/* Memory that belongs to the graph. */
CUresult vts_graph_alloc(struct vts_graph *graph, CUdevice device, uint64_t size_bytes,
			 CUdeviceptr *address);

struct vts_graph_holdings *vts_graph_hold(struct vts_graph *graph);
void vts_graph_let_go(struct vts_graph_holdings *holdings);

/* A user object of which the graph holds COUNT references. */
CUresult vts_graph_keep_object(struct vts_graph *graph, CUuserObject object, unsigned int count);
CUresult vts_graph_drop_object(struct vts_graph *graph, CUuserObject object, unsigned int count);

/* Graph memory of a device. */
struct vts_graph_memory {
	struct vts_arena arena;
	uint64_t used_high_bytes, reserved_high_bytes;
};

/* NULL when there is no such device. */
struct vts_graph_memory *vts_graph_memory(CUdevice device);

#endif
