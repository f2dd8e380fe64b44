/* SPDX-License-Identifier: MIT */
/*
 * Asks each stand-in of stand_ins.def for memory, from the library that it stands in for, and
 * prints "BYTES OWNER" for each.  The program has an allocator of its own, which two functions use.
 *
 * Exit code: 0, 1 a call failed, 77 no driver here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda_abi.h"

#define MIB (1ul << 20)

static struct {
	__typeof__(&cuInit) init;
	__typeof__(&cuDevicePrimaryCtxRetain) retain;
	__typeof__(&cuCtxSetCurrent) set_current;
	__typeof__(&cuMemAlloc_v2) alloc;
	const char *folder;
} g;

static void *find(void *library, const char *symbol)
{
	void *found = dlsym(library, symbol);

	if (!found) {
		fprintf(stderr, "stand_ins: %s\n", dlerror());
		exit(1);
	}
	return found;
}

static void open_device(void)
{
	/* For everybody: the stand-ins look for it among what is loaded. */
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	CUcontext context;

	if (!driver)
		exit(77);
	*(void **)&g.init = find(driver, "cuInit");
	*(void **)&g.retain = find(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&g.set_current = find(driver, "cuCtxSetCurrent");
	*(void **)&g.alloc = find(driver, "cuMemAlloc_v2");
	if (g.init(0) || g.retain(&context, 0) || g.set_current(context))
		exit(1);
}

static void ask_stand_in(const char *library, const char *symbol)
{
	CUdeviceptr (*ask)(void);
	char path[4096];
	void *opened;

	snprintf(path, sizeof(path), "%s/%s", g.folder, library);
	opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!opened) {
		fprintf(stderr, "stand_ins: %s\n", dlerror());
		exit(1);
	}
	*(void **)&ask = find(opened, symbol);
	if (!ask())
		exit(1);
}

static CUdeviceptr take(size_t size_bytes)
{
	CUdeviceptr address = 0;

	if (g.alloc(&address, size_bytes) != CUDA_SUCCESS)
		exit(1);
	return address;
}

static CUdeviceptr device_malloc(size_t size_bytes)
{
	return take(size_bytes) + 0;
}

static CUdeviceptr load_mesh(void)
{
	return take(101 * MIB) + 0;
}

static CUdeviceptr load_texture(void)
{
	return device_malloc(103 * MIB) + 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: stand_ins FOLDER\n");
		return 2;
	}
	g.folder = argv[1];
	open_device();
#define STAND_IN(library, name, symbol, mib, owner)                                                \
	ask_stand_in(library, symbol);                                                             \
	printf("%lu %s\n", (mib) * MIB, owner);
#include "tests/workloads/stand_ins.def"
#undef STAND_IN
	if (!load_mesh() || !load_texture())
		return 1;
	printf("%lu user/load_mesh\n%lu user/load_texture\n", 101 * MIB, 103 * MIB);
	return 0;
}
