/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/allocator.h"

#include <string.h>

#include "analyzer/replay/settings.h"

#define NONE UINT32_MAX

/* What nobody has set: its sizes are the replay's. */
static struct vt_settings defaults(void)
{
	struct vt_settings settings;

	vt_settings_init(&settings, NULL);
	return settings;
}

uint64_t vt_allocator_tail(uint64_t bytes)
{
	const struct vt_settings settings = defaults();
	uint64_t rounded = vt_settings_round(&settings, bytes);
	uint64_t rest = vt_settings_segment(&settings, rounded) - rounded;

	return vt_settings_is_split(&settings, rounded, rest) ? 0 : rest;
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
	const struct vt_settings settings = defaults();
	uint64_t rounded = vt_settings_round(&settings, bytes);
	int is_small = vt_settings_is_small(rounded);
	uint32_t number = find(a, rounded, is_small);

	if (number == NONE) {
		struct vt_allocator_block new = { .size = vt_settings_segment(&settings, rounded),
						  .segment = a->nr_segments++,
						  .is_small = is_small, .left = NONE,
						  .right = NONE };

		a->reserved_bytes += new.size;
		number = add_block(a, new);
	}
	if (vt_settings_is_split(&settings, rounded, a->blocks.items[number].size - rounded))
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
