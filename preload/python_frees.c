/* SPDX-License-Identifier: MIT */
#include "preload/python_frees.h"

#include "preload/sys.h"

typedef void (*free_fn)(void *object);

static struct {
	free_fn real;
	uint64_t nr_freed;	/* atomic */
	uint32_t is_watched;	/* atomic */
} g;

/* In the frame of whoever frees it: a jump, by optimisation, so that no stack has it. */
static void count_and_free(void *object)
{
	__atomic_fetch_add(&g.nr_freed, 1, __ATOMIC_RELAXED);
	g.real(object);
}

void vt_python_frees_watch(const void *type, size_t at)
{
	free_fn *word = (free_fn *)((uintptr_t)type + at);
	free_fn real = __atomic_load_n(word, __ATOMIC_RELAXED);

	if (!real || real == count_and_free || !vt_sys_is_writable(word))
		return;
	g.real = real;
	__atomic_store_n(word, count_and_free, __ATOMIC_RELEASE);
	__atomic_store_n(&g.is_watched, 1, __ATOMIC_RELEASE);
}

uint64_t vt_python_frees_count(void)
{
	if (!__atomic_load_n(&g.is_watched, __ATOMIC_ACQUIRE))
		return __atomic_add_fetch(&g.nr_freed, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&g.nr_freed, __ATOMIC_RELAXED) + 1;
}
