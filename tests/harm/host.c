/* SPDX-License-Identifier: MIT */
/*
 * A program whose threads allocate and give back while other threads of it begin and end, for
 * sanitizers and for counting: prints how many calls it made and, where it can ask, how many the
 * driver got.
 *
 *   host THREADS CALLS
 *
 * Each thread makes CALLS allocations and as many frees, from stacks of many shapes, in turns: one
 * thread of the program makes a tenth of them, ends, and the next goes on.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda_abi.h"

#define MOST_THREADS 256
#define TURNS 10
#define HELD 16		/* allocations that a thread holds at a time */
#define SHAPES 23	/* of stacks; a prime, so that each meets each size */

static struct {
	__typeof__(&cuMemAlloc_v2) alloc;
	__typeof__(&cuMemFree_v2) free;
	CUresult (*set)(CUcontext);	/* only the simulated driver wants a context */
	CUcontext context;
	unsigned long nr_calls;		/* of each turn */
	unsigned long nr_made[MOST_THREADS];
	pthread_barrier_t start;
} g;

__attribute__((noinline)) static CUdeviceptr take(size_t size_bytes, unsigned int depth)
{
	CUdeviceptr address = 0;

	if (depth) {
		address = take(size_bytes, depth - 1);
		/* Not a tail call: every depth is a stack of its own. */
		__asm__ volatile("" : : : "memory");
		return address;
	}
	if (g.alloc(&address, size_bytes) != CUDA_SUCCESS)
		exit(9);
	return address;
}

static void give_back(CUdeviceptr address)
{
	if (g.free(address) != CUDA_SUCCESS)
		exit(9);
}

static void *turn(void *argument)
{
	CUdeviceptr held[HELD] = { 0 };
	unsigned long *nr_made = argument;

	if (g.set && g.set(g.context))
		exit(7);
	for (unsigned long i = 0; i < g.nr_calls; i++) {
		if (held[i % HELD])
			give_back(held[i % HELD]);
		held[i % HELD] = take(1024 + i % 7 * 512, (unsigned int)(i % SHAPES));
		*nr_made += 2;
	}
	for (unsigned int i = 0; i < HELD; i++)
		if (held[i])
			give_back(held[i]);
	return NULL;
}

static void *work(void *argument)
{
	pthread_t thread;

	pthread_barrier_wait(&g.start);
	for (int i = 0; i < TURNS; i++)
		if (pthread_create(&thread, NULL, turn, argument) || pthread_join(thread, NULL))
			exit(8);
	return NULL;
}

static int find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned int), (*retain)(CUcontext *, CUdevice);

	if (!driver)
		return 0;
	*(void **)&g.alloc = dlsym(driver, "cuMemAlloc_v2");
	*(void **)&g.free = dlsym(driver, "cuMemFree_v2");
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&g.set = dlsym(driver, "cuCtxSetCurrent");
	return g.alloc && g.free && (!g.set || (!init(0) && !retain(&g.context, 0)));
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	unsigned int nr_threads = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned long nr_made = 0;

	if (!nr_threads || nr_threads > MOST_THREADS || !find_driver())
		return 2;
	g.nr_calls = strtoul(argv[2], NULL, 10) / TURNS;
	pthread_barrier_init(&g.start, NULL, nr_threads);
	for (unsigned int i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, work, &g.nr_made[i]))
			return 8;
	for (unsigned int i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		nr_made += g.nr_made[i];
	}
	printf("%lu\n", nr_made);
	return 0;
}
