/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/block_sizes.h"

#include <string.h>

#include "analyzer/base/search.h"

void vt_block_sizes_release(struct vt_block_sizes *sizes)
{
	for (size_t i = 0; i < sizes->segments.len; i++)
		vt_vector_release(&sizes->segments.items[i].blocks);
	vt_vector_release(&sizes->segments);
}

static size_t first_after(const struct vt_block_sizes *sizes, uint64_t address)
{
	return vt_search_first(i, sizes->segments.len, sizes->segments.items[i].start <= address);
}

/* The segment around an address; NULL: none that is known. */
static struct vt_sized_segment *segment_at(const struct vt_block_sizes *sizes, uint64_t address)
{
	size_t after = first_after(sizes, address);
	struct vt_sized_segment *segment = after ? &sizes->segments.items[after - 1] : NULL;

	return segment && address < segment->end ? segment : NULL;
}

void vt_block_sizes_add_segment(struct vt_block_sizes *sizes, uint64_t address, uint64_t size_bytes)
{
	size_t at;

	vt_block_sizes_remove_segment(sizes, address);
	at = first_after(sizes, address);
	vt_vector_push(&sizes->segments, ((struct vt_sized_segment){ 0 }));
	memmove(&sizes->segments.items[at + 1], &sizes->segments.items[at],
		(sizes->segments.len - 1 - at) * sizeof(*sizes->segments.items));
	sizes->segments.items[at] =
		(struct vt_sized_segment){ .start = address, .end = address + size_bytes };
}

void vt_block_sizes_remove_segment(struct vt_block_sizes *sizes, uint64_t address)
{
	size_t after = first_after(sizes, address);
	struct vt_sized_segment *segment = after ? &sizes->segments.items[after - 1] : NULL;

	if (!segment || segment->start != address)
		return;
	vt_vector_release(&segment->blocks);
	memmove(segment, segment + 1, (sizes->segments.len - after) * sizeof(*segment));
	sizes->segments.len--;
}

static size_t first_block_from(const struct vt_sized_segment *segment, uint64_t address)
{
	return vt_search_first(i, segment->blocks.len, segment->blocks.items[i].start < address);
}

uint64_t vt_block_sizes_find(const struct vt_block_sizes *sizes, uint64_t address,
			     uint64_t requested_bytes)
{
	uint64_t rounded = vt_settings_round(sizes->settings, requested_bytes), end;
	const struct vt_sized_segment *segment = segment_at(sizes, address);
	size_t next;

	if (!segment)
		return rounded;
	next = first_block_from(segment, address + 1);
	end = next < segment->blocks.len ? segment->blocks.items[next].start : segment->end;
	if (end - address <= rounded ||
	    vt_settings_is_split(sizes->settings, rounded, end - address - rounded))
		return rounded;
	return end - address;
}

void vt_block_sizes_add(struct vt_block_sizes *sizes, uint64_t address, uint64_t size_bytes)
{
	struct vt_sized_segment *segment = segment_at(sizes, address);
	struct vt_range block = { address, address + size_bytes };
	struct vt_ranges *blocks;
	size_t at;

	if (!segment)
		return;
	blocks = &segment->blocks;
	at = first_block_from(segment, address);
	if (at < blocks->len && blocks->items[at].start == address) {
		blocks->items[at] = block;
		return;
	}
	vt_vector_push(blocks, block);
	memmove(&blocks->items[at + 1], &blocks->items[at], (blocks->len - 1 - at) * sizeof(block));
	blocks->items[at] = block;
}

void vt_block_sizes_remove(struct vt_block_sizes *sizes, uint64_t address)
{
	struct vt_sized_segment *segment = segment_at(sizes, address);
	size_t at = segment ? first_block_from(segment, address) : 0;

	if (!segment || at == segment->blocks.len || segment->blocks.items[at].start != address)
		return;
	memmove(&segment->blocks.items[at], &segment->blocks.items[at + 1],
		(segment->blocks.len - 1 - at) * sizeof(struct vt_range));
	segment->blocks.len--;
}
