/* SPDX-License-Identifier: MIT */
#include "tests/lib/sqlite_memory.h"

#ifdef __SANITIZE_ADDRESS__

#include <sanitizer/asan_interface.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_BYTES  (1u << 20)
#define SMALL_BYTES 1024u /* up to here in steps of STEP, then of powers of two */
#define STEP        16u
#define LARGE_BYTES (128u << 10) /* what is larger is malloc()'s */
#define NR_CLASSES  (SMALL_BYTES / STEP + 8)
#define NR_WAITING  32 /* freed pieces of a size that wait before one is given again */
#define NOT_CHECKED __attribute__((no_sanitize("address")))

/* In front of each piece, poisoned as long as it lives. */
struct piece {
	union {
		struct piece *next;  /* while it is free */
		uint64_t size_class; /* else; NR_CLASSES: malloc()'s */
	};
	uint64_t bytes;
};

static struct {
	struct {
		struct piece *first, **last;
		unsigned nr;
	} free[NR_CLASSES];
	struct slab {
		struct slab *next; /* for LeakSanitizer, which looks through them */
	} * slabs;
	unsigned char *at, *end; /* of the newest */
	uint64_t nr_live;
	int lock; /* threads have connections of their own */
} g;

NOT_CHECKED static unsigned class_of(uint64_t bytes)
{
	unsigned size_class = SMALL_BYTES / STEP;

	if (bytes <= SMALL_BYTES)
		return (unsigned)((bytes + STEP - 1) / STEP);
	while ((uint64_t)SMALL_BYTES << (size_class - SMALL_BYTES / STEP) < bytes)
		size_class++;
	return size_class;
}

NOT_CHECKED static uint64_t class_bytes(unsigned size_class)
{
	if (size_class <= SMALL_BYTES / STEP)
		return (uint64_t)size_class * STEP;
	return (uint64_t)SMALL_BYTES << (size_class - SMALL_BYTES / STEP);
}

NOT_CHECKED static struct piece *cut(unsigned size_class)
{
	uint64_t bytes = sizeof(struct piece) + class_bytes(size_class);
	struct piece *piece;

	if ((uint64_t)(g.end - g.at) < bytes) {
		struct slab *slab = malloc(SLAB_BYTES);

		if (!slab)
			abort();
		slab->next = g.slabs;
		g.slabs = slab;
		g.at = (unsigned char *)(slab + 2);
		g.end = (unsigned char *)slab + SLAB_BYTES;
		ASAN_POISON_MEMORY_REGION(g.at, (size_t)(g.end - g.at));
	}
	piece = (struct piece *)g.at;
	g.at += bytes;
	return piece;
}

NOT_CHECKED static struct piece *take(unsigned size_class)
{
	struct piece *piece;

	while (__atomic_exchange_n(&g.lock, 1, __ATOMIC_ACQUIRE))
		;
	g.nr_live++;
	if (g.free[size_class].nr > NR_WAITING) {
		piece = g.free[size_class].first;
		g.free[size_class].first = piece->next;
		g.free[size_class].nr--;
	} else {
		piece = cut(size_class);
	}
	__atomic_store_n(&g.lock, 0, __ATOMIC_RELEASE);
	return piece;
}

NOT_CHECKED static void give_back(struct piece *piece, unsigned size_class)
{
	while (__atomic_exchange_n(&g.lock, 1, __ATOMIC_ACQUIRE))
		;
	g.nr_live--;
	piece->next = NULL;
	if (!g.free[size_class].nr++)
		g.free[size_class].first = piece;
	else
		*g.free[size_class].last = piece;
	g.free[size_class].last = &piece->next;
	__atomic_store_n(&g.lock, 0, __ATOMIC_RELEASE);
}

NOT_CHECKED static void *get(int wanted)
{
	uint64_t bytes = ((uint64_t)wanted + 7) / 8 * 8;
	unsigned size_class = bytes > LARGE_BYTES ? NR_CLASSES : class_of(bytes);
	struct piece *piece;

	if (size_class == NR_CLASSES) {
		piece = malloc(sizeof(*piece) + bytes);
		if (!piece)
			return NULL;
		__atomic_add_fetch(&g.nr_live, 1, __ATOMIC_RELAXED);
	} else {
		piece = take(size_class);
		ASAN_UNPOISON_MEMORY_REGION(piece + 1, bytes);
	}
	piece->size_class = size_class;
	piece->bytes = bytes;
	return piece + 1;
}

NOT_CHECKED static void drop(void *memory)
{
	struct piece *piece = (struct piece *)memory - 1;
	unsigned size_class = (unsigned)piece->size_class;

	if (size_class == NR_CLASSES) {
		__atomic_sub_fetch(&g.nr_live, 1, __ATOMIC_RELAXED);
		free(piece);
		return;
	}
	ASAN_POISON_MEMORY_REGION(memory, piece->bytes);
	give_back(piece, size_class);
}

NOT_CHECKED static int size_of(void *memory)
{
	return memory ? (int)((struct piece *)memory - 1)->bytes : 0;
}

NOT_CHECKED static void *change(void *memory, int wanted)
{
	int had = size_of(memory);
	void *other = get(wanted);

	if (!other)
		return NULL;
	memcpy(other, memory, (size_t)(had < wanted ? had : wanted));
	drop(memory);
	return other;
}

static int round_up(int wanted)
{
	return (int)(((unsigned)wanted + 7) / 8 * 8);
}

static int begin(void *data)
{
	(void)data;
	return SQLITE_OK;
}

static void end(void *data)
{
	(void)data;
}

void sqlite_memory_set_up(void)
{
	static const sqlite3_mem_methods methods = { get,      drop,  change, size_of,
						     round_up, begin, end,    NULL };

	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	/* A cache begins with no pages in place of twenty, which with ours of 64 KiB are many. */
	sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
		abort();
}

uint64_t sqlite_memory_live(void)
{
	return __atomic_load_n(&g.nr_live, __ATOMIC_RELAXED);
}

#else

void sqlite_memory_set_up(void)
{
}

uint64_t sqlite_memory_live(void)
{
	return 0;
}

#endif
