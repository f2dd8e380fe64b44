/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program without a framework that uses one kind of memory after the other, each through its
 * whole life.  Sizes are multiples of what the simulated driver rounds to, so that the bytes in use
 * can be compared with its ledger at each event.
 *
 *   driver_kinds KIND...
 *
 * Exit code: 0, 1 a CUDA call failed (named on stderr), 2 there is no such kind, 77 no driver here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda_abi.h"

#define MIB (1024ul * 1024ul)

static struct {
	void *driver;
	CUdevice device;
	CUcontext context;
} g;

static void *function(const char *name)
{
	void *address = dlsym(g.driver, name);

	if (!address) {
		fprintf(stderr, "driver_kinds: the driver has no %s\n", name);
		exit(1);
	}
	return address;
}

static void check(CUresult result, CUresult wanted, const char *call)
{
	if (result == wanted)
		return;
	fprintf(stderr, "driver_kinds: %s: %d instead of %d\n", call, result, wanted);
	exit(1);
}

#define CALL(name, ...) \
	check(((__typeof__(&name))function(#name))(__VA_ARGS__), CUDA_SUCCESS, #name)
#define REFUSED(error, name, ...) \
	check(((__typeof__(&name))function(#name))(__VA_ARGS__), error, #name)

static CUdeviceptr take(size_t size_bytes)
{
	CUdeviceptr address = 0;

	CALL(cuMemAlloc_v2, &address, size_bytes);
	return address;
}

static void device(void)
{
	CUdeviceptr address = take(6 * MIB), managed;
	CUdeviceptr pitched;
	size_t pitch;

	CALL(cuMemAllocPitch_v2, &pitched, &pitch, 4096, 1024, 16);
	CALL(cuMemAllocManaged, &managed, 3 * MIB, CU_MEM_ATTACH_GLOBAL);
	CALL(cuMemFree_v2, 0);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, address + 512);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, 0x12340000);
	CALL(cuMemFree_v2, address);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, address);
	CALL(cuMemFree_v2, pitched);
	CALL(cuMemFree_v2, managed);
}

static void host(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	void *one, *two;

	CALL(cuMemHostAlloc, &one, MIB, CU_MEMHOSTALLOC_PORTABLE);
	CALL(cuMemAllocHost_v2, &two, 2 * MIB);
	CALL(cuMemHostRegister_v2, page, sizeof(page), 0);
	CALL(cuMemHostUnregister, page);
	CALL(cuMemHostRegister, page, sizeof(page), 0);
	CALL(cuMemHostUnregister, page);
	CALL(cuMemFreeHost, two);
	CALL(cuMemFreeHost, one);
}

static void array(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = { 1024, 1024, CU_AD_FORMAT_FLOAT, 4 };
	CUDA_ARRAY3D_DESCRIPTOR cube = { 256, 256, 16, CU_AD_FORMAT_HALF, 2, 0 };
	CUmipmappedArray levels;
	CUarray plain, deep, level;

	CALL(cuArrayCreate_v2, &plain, &flat);
	CALL(cuArray3DCreate_v2, &deep, &cube);
	cube.Width = cube.Height = 1024;
	CALL(cuMipmappedArrayCreate, &levels, &cube, 2);
	CALL(cuMipmappedArrayGetLevel, &level, levels, 1);
	CALL(cuArrayDestroy, plain);
	REFUSED(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy, plain);
	CALL(cuMipmappedArrayDestroy, levels);
	CALL(cuArrayDestroy, deep);
}

/* What a context held goes with it: a second one, the primary one by reset and by release. */
static void context(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = { 1024, 1024, CU_AD_FORMAT_FLOAT, 1 };
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle handle;
	CUcontext second, again;
	CUdeviceptr address;
	CUarray plain;
	void *memory;

	take(4 * MIB);
	CALL(cuCtxCreate_v2, &second, 0, g.device);
	take(8 * MIB);
	CALL(cuArrayCreate_v2, &plain, &flat);
	CALL(cuMemHostAlloc, &memory, MIB, 0);
	CALL(cuMemAllocManaged, &address, MIB, CU_MEM_ATTACH_GLOBAL);
	CALL(cuMemCreate, &handle, 2 * MIB, &properties, 0);
	CALL(cuCtxDestroy_v2, second);
	CALL(cuCtxSetCurrent, g.context);
	REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, g.context);
	/* Counted: the second end is the real one. */
	CALL(cuCtxCreate_v2, &second, 0, g.device);
	take(8 * MIB);
	CALL(cuCtxAttach, &again, 0);
	CALL(cuCtxDetach, second);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuCtxDetach, second);
	CALL(cuCtxSetCurrent, g.context);
	take(2 * MIB);
	CALL(cuDevicePrimaryCtxReset_v2, g.device);
	CALL(cuDevicePrimaryCtxRetain, &g.context, g.device);
	CALL(cuDevicePrimaryCtxRetain, &again, g.device);
	CALL(cuCtxSetCurrent, g.context);
	take(6 * MIB);
	CALL(cuDevicePrimaryCtxRelease_v2, g.device);
	take(10 * MIB);
	CALL(cuDevicePrimaryCtxRelease_v2, g.device);
	CALL(cuDevicePrimaryCtxRetain, &g.context, g.device);
	CALL(cuCtxSetCurrent, g.context);
	CALL(cuMemRelease, handle);
	CALL(cuMemFree_v2, take(2 * MIB));
}

/* Left for another run of this program. */
static void export(void)
{
	FILE *file = fopen("exported", "w");
	CUipcMemHandle handle;

	CALL(cuIpcGetMemHandle, &handle, take(4 * MIB));
	if (!file || fwrite(&handle, sizeof(handle), 1, file) != 1 || fclose(file))
		exit(1);
}

/* Memory of another process: opened twice at one address, closed twice. */
static void ipc(void)
{
	FILE *file = fopen("exported", "r");
	CUdeviceptr address, again, own = take(2 * MIB);
	CUipcMemHandle handle;

	if (!file || fread(&handle, sizeof(handle), 1, file) != 1)
		exit(1);
	fclose(file);
	CALL(cuIpcOpenMemHandle_v2, &address, handle, 1);
	CALL(cuIpcOpenMemHandle, &again, handle, 1);
	if (again != address)
		exit(1);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, address);
	CALL(cuIpcCloseMemHandle, address);
	CALL(cuIpcCloseMemHandle, address);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle, address);
	/* The last one goes with its context. */
	CALL(cuIpcOpenMemHandle_v2, &address, handle, 1);
	CALL(cuMemFree_v2, own);
	CALL(cuDevicePrimaryCtxReset_v2, g.device);
	CALL(cuDevicePrimaryCtxRetain, &g.context, g.device);
	CALL(cuCtxSetCurrent, g.context);
}

static void external(void)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC what = { .type = 1, .size = 8 * MIB };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC piece = { .offset = MIB, .size = 3 * MIB };
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC picture = {
		.arrayDesc = { 256, 256, 0, CU_AD_FORMAT_FLOAT, 4, 0 },
		.numLevels = 2,
	};
	CUexternalMemory memory;
	CUmipmappedArray array;
	CUdeviceptr address;

	CALL(cuImportExternalMemory, &memory, &what);
	CALL(cuExternalMemoryGetMappedBuffer, &address, memory, &piece);
	CALL(cuExternalMemoryGetMappedMipmappedArray, &array, memory, &picture);
	CALL(cuMipmappedArrayDestroy, array);
	CALL(cuMemFree_v2, address);
	CALL(cuDestroyExternalMemory, memory);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuDestroyExternalMemory, memory);
}

/* Virtual memory that lives by its map, by a second reference; imported memory and an object. */
static void vmm(void)
{
	CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	CUmulticastObjectProp together = { .numDevices = 1, .size = 4 * MIB };
	CUmemGenericAllocationHandle own, retained, imported, object;
	CUdeviceptr at;
	int fd;

	CALL(cuMemAddressReserve, &at, 16 * MIB, 0, 0, 0);
	CALL(cuMemCreate, &own, 4 * MIB, &properties, 0);
	CALL(cuMemMap, at, 4 * MIB, 0, own, 0);
	CALL(cuMemExportToShareableHandle, &fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	CALL(cuMemImportFromShareableHandle, &imported, (void *)(intptr_t)fd,
	     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	CALL(cuMemMap, at + 4 * MIB, 4 * MIB, 0, imported, 0);
	CALL(cuMemRelease, imported);
	CALL(cuMulticastCreate, &object, &together);
	CALL(cuMulticastAddDevice, object, g.device);
	CALL(cuMulticastBindMem, object, 0, own, 0, 4 * MIB, 0);
	CALL(cuMulticastUnbind, object, g.device, 0, 4 * MIB);
	CALL(cuMulticastBindAddr, object, 0, at, 4 * MIB, 0);
	CALL(cuMemRelease, object);
	CALL(cuMemRelease, own);
	CALL(cuMemRetainAllocationHandle, &retained, (void *)(uintptr_t)at);
	CALL(cuMemUnmap, at, 4 * MIB);
	CALL(cuMemUnmap, at + 4 * MIB, 4 * MIB);
	CALL(cuMemRelease, retained);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemRelease, retained);
	CALL(cuMemAddressFree, at, 16 * MIB);
}

/* The pool keeps what was freed; a destroyed one lives until its last allocation is freed. */
static void pool(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	uint64_t threshold = UINT64_MAX;
	CUdeviceptr one, two, three;
	CUmemoryPool own, usual, foreign;
	CUmemPoolPtrExportData exported;
	int fd;

	CALL(cuMemAllocAsync, &one, 32 * MIB, NULL);
	CALL(cuMemPoolCreate, &own, &properties);
	CALL(cuMemPoolSetAttribute, own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
	CALL(cuMemAllocFromPoolAsync, &two, 64 * MIB, own, NULL);
	CALL(cuDeviceGetDefaultMemPool, &usual, g.device);
	CALL(cuDeviceSetMemPool, g.device, own);
	CALL(cuMemAllocAsync_ptsz, &three, 32 * MIB, NULL);
	CALL(cuDeviceSetMemPool, g.device, usual);
	CALL(cuMemFreeAsync, two, NULL);
	CALL(cuMemPoolTrimTo, own, 0);
	CALL(cuMemPoolExportToShareableHandle, &fd, usual, 1, 0);
	CALL(cuMemPoolExportPointer, &exported, one);
	CALL(cuMemPoolImportFromShareableHandle, &foreign, (void *)(intptr_t)fd, 1, 0);
	CALL(cuMemPoolImportPointer, &two, foreign, &exported);
	CALL(cuMemFreeAsync, two, NULL);
	CALL(cuMemPoolDestroy, foreign);
	CALL(cuMemFreeAsync, one, NULL);
	CALL(cuMemPoolTrimTo, usual, 0);
	CALL(cuMemPoolDestroy, own);
	REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy, usual);
	CALL(cuMemFree_v2, three);
}

/* What pools and graphs keep after a free, and when it goes; no sizes of whole chunks. */
static void kept(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUDA_MEM_ALLOC_NODE_PARAMS node = { .poolProps = properties, .bytesize = 40 * MIB };
	uint64_t threshold = UINT64_MAX;
	CUdeviceptr one, two;
	CUmemoryPool own;
	CUgraph made;
	CUgraphNode out;

	CALL(cuMemAllocAsync, &one, 40 * MIB, NULL);
	CALL(cuMemFreeAsync, one, NULL);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuStreamSynchronize, NULL);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuMemPoolCreate, &own, &properties);
	CALL(cuMemPoolSetAttribute, own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
	CALL(cuMemAllocFromPoolAsync, &one, 10 * MIB, own, NULL);
	CALL(cuMemAllocFromPoolAsync, &two, 60 * MIB, own, NULL);
	CALL(cuMemFreeAsync, one, NULL);
	CALL(cuCtxSynchronize);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuMemPoolTrimTo, own, 0);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuMemPoolDestroy, own);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuMemFreeAsync, two, NULL);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuGraphCreate, &made, 0);
	CALL(cuGraphAddMemAllocNode, &out, made, NULL, 0, &node);
	CALL(cuGraphDestroy, made);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuDeviceGraphMemTrim, g.device);
	CALL(cuMemFree_v2, take(2 * MIB));
	CALL(cuMemAllocAsync, &one, 40 * MIB, NULL);
	CALL(cuMemFreeAsync, one, NULL);
	CALL(cuStreamSynchronize, NULL);
}

/* Memory of nodes that were added and of a capture; it goes with the last executable graph. */
static void graph(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS node = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
		.bytesize = 32 * MIB,
	};
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraphNodeParams freed = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
	CUgraphExec first, second;
	CUdeviceptr captured;
	CUgraph made, recorded;
	CUgraphNode out;
	CUstream stream;

	CALL(cuGraphCreate, &made, 0);
	CALL(cuGraphAddMemAllocNode, &out, made, NULL, 0, &node);
	CALL(cuGraphAddMemFreeNode, &out, made, &out, 1, node.dptr);
	any.alloc = node;
	CALL(cuGraphAddNode_v3, &out, made, NULL, NULL, 0, &any);
	freed.free.dptr = any.alloc.dptr;
	CALL(cuGraphAddNode, &out, made, &out, 1, &freed);
	CALL(cuGraphInstantiateWithFlags, &first, made, 0);
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	CALL(cuMemAllocAsync, &captured, 64 * MIB, stream);
	CALL(cuMemFreeAsync, captured, stream);
	CALL(cuStreamEndCapture, stream, &recorded);
	CALL(cuGraphInstantiateWithFlags, &second, recorded, 0);
	CALL(cuGraphDestroy, made);
	CALL(cuGraphExecDestroy, second);
	CALL(cuGraphDestroy, recorded);
	CALL(cuDeviceGraphMemTrim, g.device);
	CALL(cuGraphLaunch, first, stream);
	CALL(cuGraphExecDestroy, first);
	CALL(cuDeviceGraphMemTrim, g.device);
	CALL(cuMemFree_v2, take(2 * MIB));
}

/* The first memory of all belongs to a graph, while a stream captures what no query may disturb. */
static void capture(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS node = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
		.bytesize = 32 * MIB,
	};
	CUgraph made, recorded;
	CUgraphNode out;
	CUstream stream;

	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CALL(cuGraphCreate, &made, 0);
	CALL(cuGraphAddMemAllocNode, &out, made, NULL, 0, &node);
	CALL(cuStreamEndCapture, stream, &recorded);
	CALL(cuMemFree_v2, take(2 * MIB));
}

/* Memory that is allowed while a stream captures, in a program whose pool is known. */
static void capture_with_pool(void)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr pooled;
	CUgraph recorded;
	CUstream stream;

	CALL(cuMemAllocAsync, &pooled, 2 * MIB, NULL);
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CALL(cuMemCreate, &handle, 2 * MIB, &properties, 0);
	CALL(cuMemRelease, handle);
	CALL(cuStreamEndCapture, stream, &recorded);
	CALL(cuMemFreeAsync, pooled, NULL);
}

/* No bytes that anything tells: that they were asked for. */
static void module(void)
{
	CUdeviceptr own = take(2 * MIB);
	CUlibrary library;
	CUmodule loaded;

	CALL(cuModuleLoadData, &loaded, "image");
	CALL(cuModuleUnload, loaded);
	CALL(cuLibraryLoadData, &library, "image", NULL, NULL, 0, NULL, NULL, 0);
	CALL(cuLibraryUnload, library);
	CALL(cuCtxSetLimit, CU_LIMIT_MALLOC_HEAP_SIZE, 64 * MIB);
	CALL(cuMemFree_v2, own);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "device", device },
	{ "host", host },
	{ "array", array },
	{ "context", context },
	{ "export", export },
	{ "ipc", ipc },
	{ "external", external },
	{ "vmm", vmm },
	{ "pool", pool },
	{ "kept", kept },
	{ "graph", graph },
	{ "capture", capture },
	{ "capture_with_pool", capture_with_pool },
	{ "module", module },
};

static void run(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0) {
			kinds[i].run();
			return;
		}
	fprintf(stderr, "driver_kinds: no kind %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	g.driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!g.driver)
		return 77;
	CALL(cuInit, 0);
	CALL(cuDeviceGet, &g.device, 0);
	CALL(cuDevicePrimaryCtxRetain, &g.context, g.device);
	CALL(cuCtxSetCurrent, g.context);
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return 0;
}
