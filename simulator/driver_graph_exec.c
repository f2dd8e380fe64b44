/* SPDX-License-Identifier: MIT */
/* Executable graphs. */
#include "simulator/driver_call.h"
#include "simulator/driver_graph.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_resident.h"
#include "simulator/driver_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct exec {
	struct vts_graph_holdings *holdings;
	struct vts_host_call *calls;
	size_t nr_calls;
	uint64_t flags;
	struct vts_resident resident;
};

static struct exec *find_exec(CUgraphExec handle)
{
	return vts_handles_find(VTS_HANDLE_EXEC, (uintptr_t)handle);
}

/* Takes over what a launch runs: the host functions. */
static CUresult collect_calls(struct exec *exec, const struct vts_graph *graph)
{
	size_t nr = vts_graph_count(graph);
	struct vts_host_call *calls = calloc(nr ? nr : 1, sizeof(*calls));

	if (!calls)
		return CUDA_ERROR_OUT_OF_MEMORY;
	free(exec->calls);
	exec->calls = calls;
	exec->nr_calls = 0;
	for (size_t i = 0; i < nr; i++)
		if (vts_graph_node_at(graph, i)->host.function)
			calls[exec->nr_calls++] = vts_graph_node_at(graph, i)->host;
	return CUDA_SUCCESS;
}

static uint64_t nr_kernels(const struct vts_graph *graph)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < vts_graph_count(graph); i++)
		nr += vts_graph_node_at(graph, i)->type == CU_GRAPH_NODE_TYPE_KERNEL;
	return nr;
}

static void free_exec(struct exec *exec)
{
	vts_resident_unload(&exec->resident);
	free(exec->calls);
	free(exec);
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle, uint64_t flags)
{
	struct vts_graph *graph = vts_graph_find(handle);
	struct exec *exec;

	if (!out || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (!exec || collect_calls(exec, graph) ||
	    vts_resident_load(&exec->resident, "exec",
			      nr_kernels(graph) * vts_profile_get()->graph_node_bytes)) {
		if (exec)
			free(exec->calls);
		free(exec);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	exec->flags = flags;
	*out = (CUgraphExec)vts_handles_new(VTS_HANDLE_EXEC, exec);
	if (!*out) {
		free_exec(exec);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	exec->holdings = vts_graph_hold(graph);
	return CUDA_SUCCESS;
}

static CUresult instantiate_old(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
				size_t log_bytes)
{
	if (error_node)
		*error_node = NULL;
	if (log && log_bytes)
		log[0] = '\0';
	return instantiate(out, graph, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
			    size_t log_bytes)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(instantiate_old(out, graph, error_node, log, log_bytes));
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
			       size_t log_bytes)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(instantiate_old(out, graph, error_node, log, log_bytes));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(instantiate(out, graph, flags));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!parameters)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	result = instantiate(out, graph, parameters->flags);
	parameters->hErrNode_out = NULL;
	parameters->result_out = result ? 1 : 0;
	return vts_call_leave(result);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(find_exec(exec) && vts_stream_is_valid(stream) ?
				      CUDA_SUCCESS :
				      CUDA_ERROR_INVALID_HANDLE);
}

/* The host functions run on the calling thread, after the call has let go of the driver. */
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
	struct vts_host_call *calls = NULL;
	struct exec *exec;
	size_t nr = 0;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	exec = find_exec(handle);
	if (!exec || !vts_stream_is_valid(stream))
		return vts_call_leave(CUDA_ERROR_INVALID_HANDLE);
	if (exec->nr_calls)
		calls = malloc(exec->nr_calls * sizeof(*calls));
	if (calls) {
		nr = exec->nr_calls;
		memcpy(calls, exec->calls, nr * sizeof(*calls));
	}
	vts_call_leave(CUDA_SUCCESS);
	for (size_t i = 0; i < nr; i++)
		calls[i].function(calls[i].data);
	free(calls);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
	struct exec *exec;

	VTS_ENTER(VTS_NEEDS_INIT);
	exec = find_exec(handle);
	if (!exec)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	vts_graph_let_go(exec->holdings);
	vts_handles_drop(VTS_HANDLE_EXEC, (uintptr_t)handle);
	free_exec(exec);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, uint64_t *flags)
{
	const struct exec *exec;

	VTS_ENTER(VTS_NEEDS_INIT);
	exec = find_exec(handle);
	if (!exec || !flags)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = exec->flags;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
			      CUgraphExecUpdateResultInfo *info)
{
	struct vts_graph *graph;
	struct exec *exec;

	VTS_ENTER(VTS_NEEDS_INIT);
	exec = find_exec(handle);
	graph = vts_graph_find(graph_handle);
	if (!exec || !graph || !info)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	memset(info, 0, sizeof(*info));
	return vts_call_leave(collect_calls(exec, graph));
}

/* Names and dependencies are enough to look at; parameters are not kept. */
CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned int flags)
{
	const struct vts_graph *graph;
	FILE *file;

	(void)flags;
	VTS_ENTER(VTS_NEEDS_INIT);
	graph = vts_graph_find(handle);
	file = graph && path ? fopen(path, "we") : NULL;
	if (!file)
		return vts_call_leave(graph && path ? CUDA_ERROR_OPERATING_SYSTEM :
						      CUDA_ERROR_INVALID_VALUE);
	fprintf(file, "digraph dot {\n");
	for (size_t i = 0; i < vts_graph_count(graph); i++) {
		const struct vts_node *node = vts_graph_node_at(graph, i);

		fprintf(file, "\"%p\" [label=\"%d\"];\n", (void *)node->handle, (int)node->type);
		for (size_t k = 0; k < node->nr_after; k++)
			fprintf(file, "\"%p\" -> \"%p\";\n", (void *)node->after[k],
				(void *)node->handle);
	}
	fprintf(file, "}\n");
	fclose(file);
	return vts_call_leave(CUDA_SUCCESS);
}
