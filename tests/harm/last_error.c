/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of calls of the CUDA runtime and the error that it remembers after each, with
 * none and with one that was there before. Finds the runtime itself.
 *
 *   last_error RUNTIME
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#define TOO_MUCH ((size_t)1 << 60)

typedef int any_function(void *, size_t, size_t, size_t);

static struct {
	int (*peek)(void);
	int (*last)(void);
	any_function *malloc;
} g;

static void *found(void *runtime, const char *name)
{
	void *address = dlsym(runtime, name);

	if (!address)
		printf("%s is absent\n", name);
	return address;
}

static void tell(const char *what, int result)
{
	printf("%s %d, remembers %d\n", what, result, g.peek());
}

/* With sizes that fit and that do not, and an address that is nobody's. */
static void try_all(void *runtime)
{
	static const char *const names[] = { "cudaMalloc", "cudaMallocManaged", "cudaMallocHost",
					     "cudaHostAlloc", "cudaMallocAsync", "cudaFree",
					     "cudaFreeHost", "cudaFreeAsync", "cudaMemGetInfo",
					     "cudaDeviceSynchronize" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		any_function *call;
		size_t room[2] = { 0 };

		*(void **)&call = found(runtime, names[i]);
		if (!call)
			continue;
		if (i < 5)
			tell(names[i], call(room, 4096, i == 1, 0));
		if (i < 5)
			tell(names[i], call(room, TOO_MUCH, i == 1, 0));
		if (i >= 5 && i < 8)
			tell(names[i], call((void *)0x1234560000, 0, 0, 0));
		if (i >= 8)
			tell(names[i], call(room, (size_t)&room[1], 0, 0));
	}
}

int main(int argc, char **argv)
{
	void *runtime = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *memory;

	if (!runtime)
		return 77;
	*(void **)&g.peek = found(runtime, "cudaPeekAtLastError");
	*(void **)&g.last = found(runtime, "cudaGetLastError");
	*(void **)&g.malloc = found(runtime, "cudaMalloc");
	tell("first", g.malloc(&memory, 4096, 0, 0));
	try_all(runtime);
	for (int i = 0; i < 2; i++)
		printf("asked %d\n", g.last());
	try_all(runtime);
	tell("asked", g.last());
	return 0;
}
