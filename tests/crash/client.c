/* SPDX-License-Identifier: MIT */
/*
 * A program that asks the driver for memory and keeps its own books (client.h), for tests that kill
 * it.
 *
 *   client LEDGER THREADS CALLS [PAUSE]
 *
 * Each thread makes CALLS allocations and frees, from stacks of many shapes.  The first, after
 * PAUSE of them, waits for a line, or the end, of its standard input: what a test does until then
 * happens before the program's end, however slow the test is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cuda_abi.h"
#include "tests/crash/client.h"

#define MOST_THREADS 16
#define HELD 64		/* allocations that a thread holds at a time */
#define SHAPES 23	/* of stacks; a prime, so that each meets each size */

static struct {
	struct ledger_thread *threads;
	unsigned int nr_calls;
	unsigned int pause;	/* 0: none */
} g;

static void note(struct ledger_thread *ledger, CUdeviceptr address, size_t size_bytes)
{
	struct ledger_call *call = &ledger->calls[ledger->nr_calls];

	call->address = address;
	call->size_bytes = size_bytes;
	__atomic_store_n(&ledger->nr_calls, ledger->nr_calls + 1, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static CUdeviceptr take(struct ledger_thread *ledger, size_t size_bytes,
						  unsigned int depth)
{
	CUdeviceptr address = 0;

	if (depth) {
		address = take(ledger, size_bytes, depth - 1);
		/* Not a tail call: every depth is a stack of its own. */
		__asm__ volatile("" : : : "memory");
		return address;
	}
	if (cuMemAlloc_v2(&address, size_bytes) != CUDA_SUCCESS)
		exit(9);
	note(ledger, address, size_bytes);
	return address;
}

static void give_back(struct ledger_thread *ledger, CUdeviceptr address)
{
	if (address && cuMemFree_v2(address) == CUDA_SUCCESS)
		note(ledger, address, 0);
}

static void wait_for_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

static void *work(void *argument)
{
	struct ledger_thread *ledger = argument;
	unsigned int pause = ledger == g.threads ? g.pause : 0;
	CUdeviceptr held[HELD] = { 0 };

	ledger->thread = (uint64_t)syscall(SYS_gettid);
	for (unsigned int i = 0; ledger->nr_calls < g.nr_calls; i++) {
		if (pause && ledger->nr_calls >= pause) {
			wait_for_line();
			pause = 0;
		}
		give_back(ledger, held[i % HELD]);
		held[i % HELD] = take(ledger, 1000 + i, i % SHAPES);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int nr_threads = argc == 4 || argc == 5 ? atoi(argv[2]) : 0;
	size_t bytes = (size_t)nr_threads * sizeof(struct ledger_thread);
	int fd;

	g.nr_calls = nr_threads ? (unsigned int)atoi(argv[3]) : 0;
	g.pause = argc == 5 ? (unsigned int)atoi(argv[4]) : 0;
	if (nr_threads < 1 || nr_threads > MOST_THREADS || g.nr_calls > LEDGER_MOST_CALLS - 2) {
		fprintf(stderr, "usage: client LEDGER THREADS CALLS [PAUSE]\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return 2;
	g.threads = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (g.threads == MAP_FAILED)
		return 2;
	for (int i = 1; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, work, &g.threads[i]))
			return 2;
	work(&g.threads[0]);
	for (int i = 1; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
