/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/allocator.h"

#include <string.h>

#include "analyzer/base/units.h"

/* The constants of CUDACachingAllocator.cpp. */
#define MIN_BLOCK    512ull
#define SMALL_SIZE   VT_MIB        /* requests up to here come from the small pool */
#define SMALL_BUFFER (2 * VT_MIB)
#define MIN_LARGE    (10 * VT_MIB) /* from here on a segment of one's own */
#define LARGE_BUFFER (20 * VT_MIB)
#define ROUND_LARGE  (2 * VT_MIB)

#define NONE UINT32_MAX

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

uint64_t vt_allocator_round(uint64_t bytes)
{
	return bytes < MIN_BLOCK ? MIN_BLOCK : round_up(bytes, MIN_BLOCK);
}

static uint64_t segment_size(uint64_t bytes)
{
	if (bytes <= SMALL_SIZE)
		return SMALL_BUFFER;
	return bytes < MIN_LARGE ? LARGE_BUFFER : round_up(bytes, ROUND_LARGE);
}

static int is_split(int is_small, uint64_t rest)
{
	return is_small ? rest >= MIN_BLOCK : rest > SMALL_SIZE;
}

uint64_t vt_allocator_tail(uint64_t bytes)
{
	uint64_t rounded = vt_allocator_round(bytes), rest = segment_size(rounded) - rounded;

	return rounded < MIN_LARGE || is_split(0, rest) ? 0 : rest;
}

/* Best fit: the smallest free block that is large enough, the earliest of equals. */
static uint32_t find(const struct vt_allocator *a, uint64_t bytes, int is_small)
{
	uint32_t best = NONE;

	for (size_t i = 0; i < a->blocks.len; i++) {
		const struct vt_allocator_block *block = &a->blocks.items[i];

		if (block->is_used || block->is_gone || block->is_small != is_small ||
		    block->size < bytes)
			continue;
		if (best == NONE || block->size < a->blocks.items[best].size)
			best = (uint32_t)i;
	}
	return best;
}

static uint32_t add_block(struct vt_allocator *a, struct vt_allocator_block block)
{
	vt_vector_push(&a->blocks, block);
	return (uint32_t)(a->blocks.len - 1);
}

static void split(struct vt_allocator *a, uint32_t number, uint64_t bytes)
{
	struct vt_allocator_block rest = a->blocks.items[number];
	uint32_t right = rest.right, added;

	rest.size -= bytes;
	rest.left = number;
	added = add_block(a, rest);
	a->blocks.items[number].size = bytes;
	a->blocks.items[number].right = added;
	if (right != NONE)
		a->blocks.items[right].left = added;
}

uint32_t vt_allocator_malloc(struct vt_allocator *a, uint64_t bytes)
{
	uint64_t rounded = vt_allocator_round(bytes);
	int is_small = rounded <= SMALL_SIZE;
	uint32_t number = find(a, rounded, is_small);

	if (number == NONE) {
		struct vt_allocator_block new = { .size = segment_size(rounded),
						  .segment = a->nr_segments++,
						  .is_small = is_small, .left = NONE,
						  .right = NONE };

		a->reserved_bytes += new.size;
		number = add_block(a, new);
	}
	if (is_split(is_small, a->blocks.items[number].size - rounded))
		split(a, number, rounded);
	a->blocks.items[number].is_used = 1;
	a->allocated_bytes += a->blocks.items[number].size;
	return number;
}

/* `right` becomes a part of `left`. */
static void merge(struct vt_allocator *a, uint32_t left, uint32_t right)
{
	struct vt_allocator_block *l = &a->blocks.items[left], *r = &a->blocks.items[right];

	l->size += r->size;
	l->right = r->right;
	if (r->right != NONE)
		a->blocks.items[r->right].left = left;
	r->is_gone = 1;
}

static int is_free(const struct vt_allocator *a, uint32_t number)
{
	return number != NONE && !a->blocks.items[number].is_used;
}

void vt_allocator_free(struct vt_allocator *a, uint32_t number)
{
	struct vt_allocator_block *block = &a->blocks.items[number];

	a->allocated_bytes -= block->size;
	block->is_used = 0;
	if (is_free(a, block->right))
		merge(a, number, block->right);
	if (is_free(a, a->blocks.items[number].left))
		merge(a, a->blocks.items[number].left, number);
}

void vt_allocator_release(struct vt_allocator *a)
{
	vt_vector_release(&a->blocks);
	memset(a, 0, sizeof(*a));
}
