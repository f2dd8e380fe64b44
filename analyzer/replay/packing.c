/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/packing.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

static int compare_bytes(const void *a, const void *b)
{
	const struct vt_packing_block *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->to - x->from != y->to - y->from)
		return x->to - x->from > y->to - y->from ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* The lowest gap among those that live at the same time; `placed` are in the order of offsets. */
static uint64_t lowest_gap(const struct vt_packing_block *placed, size_t nr,
			   const struct vt_packing_block *block)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < nr && placed[i].offset < offset + block->bytes; i++) {
		const struct vt_packing_block *other = &placed[i];

		if (other->from < block->to && block->from < other->to &&
		    other->offset + other->bytes > offset)
			offset = other->offset + other->bytes;
	}
	return offset;
}

/* The largest first: small ones find room between them. */
uint64_t vt_packing_find(struct vt_packing_block *blocks, size_t nr)
{
	uint64_t top = 0;

	vt_sort(blocks, nr, compare_bytes);
	for (size_t i = 0; i < nr; i++) {
		struct vt_packing_block block = blocks[i];
		size_t at = i;

		block.offset = lowest_gap(blocks, i, &block);
		while (at && blocks[at - 1].offset > block.offset)
			at--;
		memmove(&blocks[at + 1], &blocks[at], (i - at) * sizeof(*blocks));
		blocks[at] = block;
		if (block.offset + block.bytes > top)
			top = block.offset + block.bytes;
	}
	return top;
}
