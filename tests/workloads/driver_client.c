/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program without a framework: it finds the driver as a plugin would (dlopen, dlsym), loads
 * "weights", takes a few "steps" with activations and a workspace, and gives everything back.
 * Each size is odd and occurs once, so that a block in a report is known by its size.
 *
 *   driver_client [STEPS]
 *
 * Prints the device and the bytes it held at most.  Exit code: 0, 1 a CUDA call failed (named on
 * stderr), 77 no driver here.  Where libvtrace.so is loaded, the stages become named marks.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda_abi.h"

#define NR_LAYERS 12
#define MIB (1024ul * 1024ul)

#define CALLS(X) \
	X(cuInit) X(cuGetErrorName) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceTotalMem_v2) \
	X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuMemAlloc_v2) X(cuMemFree_v2)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	CALLS(MEMBER)
	void (*mark)(const char *name);
	size_t held_bytes, peak_bytes;
	CUdeviceptr weights[NR_LAYERS];
	CUdeviceptr activations[NR_LAYERS];
} g;

static size_t weight_bytes(unsigned layer)
{
	return 48 * MIB + 4096 * layer + 12;
}

static size_t activation_bytes(unsigned layer)
{
	return 96 * MIB + 8192 * layer + 20;
}

static void check(CUresult result, const char *call)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return;
	if (g.cuGetErrorName)
		g.cuGetErrorName(result, &name);
	fprintf(stderr, "driver_client: %s: %s\n", call, name ? name : "unknown error");
	exit(1);
}

static void stage(const char *name)
{
	if (g.mark)
		g.mark(name);
}

static CUdeviceptr take(size_t size_bytes)
{
	CUdeviceptr address = 0;

	check(g.cuMemAlloc_v2(&address, size_bytes), "cuMemAlloc");
	g.held_bytes += size_bytes;
	if (g.held_bytes > g.peak_bytes)
		g.peak_bytes = g.held_bytes;
	return address;
}

static void give_back(CUdeviceptr address, size_t size_bytes)
{
	check(g.cuMemFree_v2(address), "cuMemFree");
	g.held_bytes -= size_bytes;
}

static void load_weights(void)
{
	for (unsigned i = 0; i < NR_LAYERS; i++)
		g.weights[i] = take(weight_bytes(i));
}

static void forward(void)
{
	for (unsigned i = 0; i < NR_LAYERS; i++)
		g.activations[i] = take(activation_bytes(i));
}

static void backward(void)
{
	const size_t workspace_bytes = 33 * MIB + 28;
	CUdeviceptr workspace = take(workspace_bytes);

	for (unsigned i = NR_LAYERS; i-- > 0;)
		give_back(g.activations[i], activation_bytes(i));
	give_back(workspace, workspace_bytes);
}

static void unload_weights(void)
{
	for (unsigned i = 0; i < NR_LAYERS; i++)
		give_back(g.weights[i], weight_bytes(i));
}

static int find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
#define FIND(name) \
	*(void **)&g.name = dlsym(library, #name); \
	if (!g.name) \
		return -1;
	CALLS(FIND)
	*(void **)&g.mark = dlsym(RTLD_DEFAULT, "vtrace_mark");
	return 0;
}

static void open_device(void)
{
	CUcontext context;
	CUdevice device;
	char name[128] = "";
	size_t total_bytes = 0;

	check(g.cuInit(0), "cuInit");
	check(g.cuDeviceGet(&device, 0), "cuDeviceGet");
	check(g.cuDeviceGetName(name, sizeof(name), device), "cuDeviceGetName");
	check(g.cuDeviceTotalMem_v2(&total_bytes, device), "cuDeviceTotalMem");
	check(g.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	check(g.cuCtxSetCurrent(context), "cuCtxSetCurrent");
	printf("device %s, %zu bytes\n", name, total_bytes);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 3;

	if (find_driver() < 0) {
		fprintf(stderr, "driver_client: no usable libcuda.so.1\n");
		return 77;
	}
	open_device();
	load_weights();
	stage("loaded");
	for (int step = 0; step < steps; step++) {
		forward();
		stage("after forward");
		backward();
	}
	unload_weights();
	printf("peak %zu bytes\n", g.peak_bytes);
	return 0;
}
