/* SPDX-License-Identifier: MIT */
/*
 * What PyTorch's allocator does at every block, and nothing else: calls its report function, which
 * the recorder stands in front of, from a stack as deep as wanted.  Its file name is that of
 * PyTorch's library, so that the recorder finds the real function where it looks for it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default"), noinline, noclone))

/* c10::Device and c10::DeviceType::CUDA. */
struct device {
	int8_t type;
	int8_t index;
};
#define CUDA ((struct device){ 1, 0 })

#define BLOCK_BYTES 4096u
#define NR_BLOCKS   64u

EXPORT void report(void *pointer, int64_t size, uint64_t allocated, uint64_t reserved,
		   struct device device)
	__asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report(void *pointer, int64_t size, uint64_t allocated, uint64_t reserved,
	    struct device device)
{
	__asm__ volatile("" : : "r"(pointer), "r"(size), "r"(allocated + reserved), "r"(&device));
}

/* c10::GradMode::is_enabled, which reads the thread's state as PyTorch's does. */
EXPORT _Bool is_grad_enabled(void) __asm__("_ZN3c108GradMode10is_enabledEv");
_Bool is_grad_enabled(void)
{
	static _Thread_local _Bool is_disabled;

	return !is_disabled;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Block `number / 2`, taken at even numbers and given back at odd ones. */
EXPORT void bench_event(uint64_t number);
void bench_event(uint64_t number)
{
	uint64_t block = (uint64_t)pthread_self() + number / 2 % NR_BLOCKS * BLOCK_BYTES;

	report((void *)(uintptr_t)block, number % 2 ? -(int64_t)BLOCK_BYTES : BLOCK_BYTES,
	       BLOCK_BYTES, BLOCK_BYTES, CUDA);
}

/* Nanoseconds that one event takes, `depth` frames further down. */
EXPORT uint64_t bench_time(unsigned int depth, uint64_t number);
uint64_t bench_time(unsigned int depth, uint64_t number)
{
	uint64_t start;

	if (depth) {
		start = bench_time(depth - 1, number);
		__asm__ volatile("" : "+r"(start));
		return start;
	}
	start = now_ns(CLOCK_MONOTONIC);
	bench_event(number);
	return now_ns(CLOCK_MONOTONIC) - start;
}

/* `nr` events from one place, not timed one by one. */
EXPORT void bench_repeat(unsigned int depth, uint64_t nr);
void bench_repeat(unsigned int depth, uint64_t nr)
{
	if (depth) {
		bench_repeat(depth - 1, nr);
		__asm__ volatile("");
		return;
	}
	for (uint64_t number = 0; number < nr; number++)
		bench_event(number);
}

/* Takes and gives back memory of the host, for recorders of malloc. */
EXPORT void bench_malloc(unsigned int depth, uint64_t nr);
void bench_malloc(unsigned int depth, uint64_t nr)
{
	if (depth) {
		bench_malloc(depth - 1, nr);
		__asm__ volatile("");
		return;
	}
	for (uint64_t number = 0; number < nr; number += 2) {
		void *memory = malloc(BLOCK_BYTES);

		__asm__ volatile("" : : "r"(memory) : "memory");
		free(memory);
	}
}

struct work {
	pthread_barrier_t *start;
	unsigned int depth;
	uint64_t nr;
	uint64_t cpu_ns;
};

static void *work(void *argument)
{
	struct work *work = argument;
	uint64_t start;

	bench_repeat(work->depth, 64);
	pthread_barrier_wait(work->start);
	start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	bench_repeat(work->depth, work->nr);
	work->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return NULL;
}

/* Processor time in nanoseconds that all threads together took for `nr` events each; 0: failed. */
EXPORT uint64_t bench_threads(unsigned int nr_threads, unsigned int depth, uint64_t nr);
uint64_t bench_threads(unsigned int nr_threads, unsigned int depth, uint64_t nr)
{
	struct work *works = calloc(nr_threads, sizeof(*works));
	pthread_t *threads = calloc(nr_threads, sizeof(*threads));
	pthread_barrier_t start;
	uint64_t cpu_ns = 0;
	unsigned int i;

	if (!works || !threads || pthread_barrier_init(&start, NULL, nr_threads))
		abort();
	for (i = 0; i < nr_threads; i++) {
		works[i] = (struct work){ &start, depth, nr, 0 };
		if (pthread_create(&threads[i], NULL, work, &works[i]))
			abort();
	}
	for (i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		cpu_ns += works[i].cpu_ns;
	}
	pthread_barrier_destroy(&start);
	free(threads);
	free(works);
	return cpu_ns;
}
