/* SPDX-License-Identifier: MIT */
/*
 * A program on the CUDA runtime: allocates by it, and by driver functions that it asks the runtime
 * for.  Built twice: with the runtime inside it, no symbol of which is visible, or loading the
 * library that is named, into a scope of its own.
 *
 *   runtime_client [RUNTIME]
 *
 * Exit code: 0, 1 a call failed (named on stderr), 77 there is no such runtime.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB (1024ul * 1024ul)

#ifdef CLIENT_HAS_RUNTIME
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaGetDriverEntryPointByVersion(const char *, void **, unsigned int, uint64_t, int *);
#define FIND(name) ((void *)name)
#else
static void *runtime;
#define FIND(name) dlsym(runtime, #name)
#endif

static void check(int failed, const char *call)
{
	if (!failed)
		return;
	fprintf(stderr, "runtime_client: %s failed\n", call);
	exit(1);
}

static void *entry_point(const char *name, unsigned int version, uint64_t flags)
{
	int (*ask)(const char *, void **, unsigned int, uint64_t, int *);
	void *address = NULL;
	int status = 9;

	*(void **)&ask = FIND(cudaGetDriverEntryPointByVersion);
	check(!ask || ask(name, &address, version, flags, &status) || status || !address, name);
	return address;
}

int main(int argc, char **argv)
{
	int (*alloc_async)(unsigned long long *, size_t, void *);
	int (*alloc)(unsigned long long *, size_t);
	int (*allocate)(void **, size_t), (*release)(void *);
	unsigned long long address;
	void *memory;

#ifdef CLIENT_HAS_RUNTIME
	(void)argc, (void)argv;
#else
	runtime = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
	if (!runtime)
		return 77;
#endif
	*(void **)&allocate = FIND(cudaMalloc);
	*(void **)&release = FIND(cudaFree);
	/* Makes the context, frees nothing. */
	check(release(NULL), "cudaFree(0)");
	check(allocate(&memory, 2 * MIB), "cudaMalloc");
	*(void **)&alloc = entry_point("cuMemAlloc", 12000, 0);
	check(alloc(&address, 4 * MIB), "cuMemAlloc");
	*(void **)&alloc_async = entry_point("cuMemAllocAsync", 12000, 1);
	check(alloc_async(&address, 8 * MIB, NULL), "cuMemAllocAsync");
	*(void **)&alloc_async = entry_point("cuMemAllocAsync", 12000, 2);
	check(alloc_async(&address, 16 * MIB, NULL), "cuMemAllocAsync_ptsz");
	check(release(memory), "cudaFree");
	return 0;
}
