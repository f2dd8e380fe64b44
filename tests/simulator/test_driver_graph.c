/* SPDX-License-Identifier: MIT */
/* Streams, events, capture, graphs, launches. */
#include "tests/simulator/child.h"

#define FOOTPRINT 7000 /* of a kernel: graph_node= */

static int nr_calls;

static void count_call(void *data)
{
	/* A host function may not call CUDA, but nothing may hang if it does. */
	CHECK_RC(CUDA_SUCCESS, cuDriverGetVersion(&(int){ 0 }));
	nr_calls += *(int *)data;
}

/* Two kernels and a fill. */
static void footprint_body(void)
{
	CUgraphExec first, second;
	CUfunction function;
	CUdeviceptr address;
	CUmodule module;
	CUstream stream;
	uint64_t before;
	CUgraph graph;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_SUCCESS, cuModuleLoadData(&module, "any image"));
	CHECK_RC(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "kernel"));
	before = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < 2; i++)
		CHECK_RC(CUDA_SUCCESS,
			 cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK_RC(CUDA_SUCCESS, cuMemsetD8Async(address, 9, 4096, stream));
	CHECK_RC(CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
	CHECK_EQUAL(before, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuGraphInstantiateWithFlags(&first, graph, 0));
	CHECK_RC(CUDA_SUCCESS, cuGraphInstantiateWithFlags(&second, graph, 0));
	CHECK_EQUAL(before + 2 * 2 * FOOTPRINT, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuGraphExecDestroy(first));
	CHECK_EQUAL(before + 2 * FOOTPRINT, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuGraphDestroy(graph));
	CHECK_RC(CUDA_SUCCESS, cuGraphExecDestroy(second));
	CHECK_EQUAL(before, vts_child_used());
}

static void capture_body(void)
{
	CUstreamCaptureStatus status;
	CUgraphNode nodes[8];
	CUgraphExec exec;
	CUstream stream, other;
	CUdeviceptr address;
	CUmodule module;
	CUfunction function;
	CUevent fork, join;
	CUgraph graph;
	size_t nr = 8;
	int one = 1;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CHECK_RC(CUDA_SUCCESS, cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CHECK_RC(CUDA_SUCCESS, cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_SUCCESS, cuModuleLoadData(&module, "any image"));
	CHECK_RC(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "kernel"));
	CHECK_RC(CUDA_SUCCESS, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_RC(CUDA_SUCCESS,
		 cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK_RC(CUDA_SUCCESS, cuEventRecord(fork, stream));
	CHECK_RC(CUDA_SUCCESS, cuStreamWaitEvent(other, fork, 0));
	CHECK_RC(CUDA_SUCCESS, cuStreamIsCapturing(other, &status));
	CHECK_EQUAL(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
	CHECK_RC(CUDA_SUCCESS, cuMemsetD8Async(address, 9, 4096, other));
	CHECK_RC(CUDA_SUCCESS, cuLaunchHostFunc(other, count_call, &one));
	CHECK_RC(CUDA_SUCCESS, cuEventRecord(join, other));
	CHECK_RC(CUDA_SUCCESS, cuStreamWaitEvent(stream, join, 0));
	CHECK_RC(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(other, &graph));
	CHECK_RC(CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
	CHECK_RC(CUDA_SUCCESS, cuStreamIsCapturing(other, &status));
	CHECK_EQUAL(CU_STREAM_CAPTURE_STATUS_NONE, status);
	CHECK_RC(CUDA_SUCCESS, cuGraphGetNodes(graph, nodes, &nr));
	CHECK_EQUAL(3, nr);
	/* Captured, not done. */
	CHECK(!*(char *)(uintptr_t)address && !nr_calls);
	CHECK_RC(CUDA_SUCCESS, cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_RC(CUDA_SUCCESS, cuGraphDestroy(graph));
	CHECK_RC(CUDA_SUCCESS, cuGraphLaunch(exec, stream));
	CHECK_RC(CUDA_SUCCESS, cuGraphLaunch(exec, stream));
	CHECK_EQUAL(2, nr_calls);
	CHECK_RC(CUDA_SUCCESS, cuGraphExecDestroy(exec));
	CHECK_RC(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, stream));
}

static void test_capture(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(capture_body, NULL));
}

static void unsafe_body(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr address;
	CUstream stream;
	CUgraph graph;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&stream, 0));
	CHECK_RC(CUDA_SUCCESS, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_RC(CUDA_SUCCESS, cuThreadExchangeStreamCaptureMode(&mode));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_SUCCESS, cuThreadExchangeStreamCaptureMode(&mode));
	CHECK_EQUAL(CU_STREAM_CAPTURE_MODE_RELAXED, mode);
	CHECK_RC(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	CHECK(!graph);
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
}

static void test_unsafe(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(unsafe_body, NULL));
}

static void graph_memory_body(void)
{
	uint64_t used, reserved;
	CUdeviceptr address;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&stream, 0));
	CHECK_RC(CUDA_SUCCESS, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync(&address, 5 * MIB, stream));
	CHECK_RC(CUDA_SUCCESS, cuMemFreeAsync(address, stream));
	CHECK_RC(CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
	CHECK_RC(CUDA_SUCCESS, cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_RC(CUDA_SUCCESS, cuGraphDestroy(graph));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetGraphMemAttribute(
				       0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
	CHECK_EQUAL(32 * MIB, reserved);
	CHECK_EQUAL(used + 32 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuGraphExecDestroy(exec));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGraphMemTrim(0));
	CHECK_EQUAL(used, vts_child_used());
}

static void test_graph_memory(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(graph_memory_body, NULL));
}

static void stream_callback(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	*(int *)data += status == CUDA_SUCCESS;
}

static void streams_body(void)
{
	CUdeviceptr address;
	CUevent start, end;
	CUstream stream, again;
	CUcontext context, owner;
	float time_ms;
	int called = 0;

	context = vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuStreamCreateWithPriority(&stream, 1, -99));
	CHECK_RC(CUDA_SUCCESS, cuStreamGetPriority(stream, &called));
	CHECK_EQUAL((uint64_t)-5, (uint64_t)called);
	called = 0;
	CHECK_RC(CUDA_SUCCESS, cuStreamGetCtx(stream, &owner));
	CHECK(owner == context);
	CHECK_RC(CUDA_SUCCESS, cuStreamAddCallback(stream, stream_callback, &called, 0));
	CHECK_EQUAL(1, called);
	CHECK_RC(CUDA_SUCCESS, cuEventCreate(&start, 0));
	CHECK_RC(CUDA_SUCCESS, cuEventCreate(&end, 0));
	CHECK_RC(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time_ms, start, end));
	CHECK_RC(CUDA_SUCCESS, cuEventRecord(start, stream));
	CHECK_RC(CUDA_SUCCESS, cuEventRecord(end, CU_STREAM_PER_THREAD));
	CHECK_RC(CUDA_SUCCESS, cuEventQuery(end));
	CHECK_RC(CUDA_SUCCESS, cuEventElapsedTime(&time_ms, start, end));
	CHECK(time_ms >= 0);
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 8));
	CHECK_RC(CUDA_SUCCESS, cuStreamWriteValue32_v2(stream, address, 7, 0));
	CHECK_EQUAL(7, *(uint32_t *)(uintptr_t)address);
	CHECK_RC(CUDA_SUCCESS, cuStreamDestroy_v2(stream));
	CHECK_RC(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
	CHECK_RC(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(start, stream));
	/* A freed number is the next one given out. */
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&again, 0));
	CHECK(again == stream);
}

static void test_streams(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(streams_body, NULL));
}

static void launch_body(void)
{
	CUfunction function, again;
	CUmodule module;
	int blocks, grid, block;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuModuleLoadData(&module, "any image"));
	CHECK_RC(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "f"));
	CHECK_RC(CUDA_SUCCESS, cuModuleGetFunction(&again, module, "f"));
	CHECK(function == again);
	CHECK_RC(CUDA_SUCCESS,
		 cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
	CHECK_EQUAL(8, blocks);
	CHECK_RC(CUDA_SUCCESS,
		 cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0));
	CHECK(grid == 264 && block == 1024);
	CHECK_RC(CUDA_ERROR_INVALID_VALUE,
		 cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL));
	CHECK_RC(CUDA_SUCCESS, cuModuleUnload(module));
	CHECK_RC(CUDA_ERROR_INVALID_HANDLE,
		 cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK_RC(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/no/such/file"));
}

static void test_launch(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(launch_body, NULL));
}

static void test_footprint(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(footprint_body,
					  "VTRACE_SIM_PROFILE=h100-80g,graph_node=7KB", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_footprint),
		cmocka_unit_test(test_capture),	     cmocka_unit_test(test_unsafe),
		cmocka_unit_test(test_graph_memory), cmocka_unit_test(test_streams),
		cmocka_unit_test(test_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
