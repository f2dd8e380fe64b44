/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/start.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/search.h"

struct finding {
	struct vt_start *start;
	struct vt_snapshot_input *input;
	struct vt_map blocks;   /* addresses of what the trace has made or freed */
	struct vt_map segments; /* address -> the entry that made what is there */
	struct vt_ranges mapped; /* by the trace, now */
};

static struct vt_key key(uint64_t address)
{
	return (struct vt_key){ address, 0, 0 };
}

static void add_block(struct finding *f, const struct vt_snapshot_entry *entry, int is_pending)
{
	vt_vector_push(&f->start->blocks, ((struct vt_start_block){
		.address = entry->address,
		.requested_bytes = entry->size_bytes,
		.stream = entry->stream,
		.frames = VT_VALUE_UNSET,
		.forward_frames = VT_VALUE_UNSET,
		/* What the entry has is of who freed it. */
		.labels = vt_snapshot_no_labels,
		.is_pending = is_pending,
	}));
}

static void take_free(struct finding *f, const struct vt_snapshot_entry *entry)
{
	const int is_completed = entry->action == VT_SNAPSHOT_FREE_COMPLETED;

	f->start->has_completed |= is_completed;
	if (!vt_map_find(&f->blocks, key(entry->address)))
		add_block(f, entry, is_completed);
	if (is_completed)
		vt_map_remove(&f->blocks, key(entry->address));
	else
		vt_map_put(&f->blocks, key(entry->address), 1);
}

/* Of an expandable segment what the trace has not mapped. */
static void add_unmade(struct finding *f, const struct vt_start_segment *whole)
{
	struct vt_ranges missing = { 0 };

	vt_ranges_missing(&f->mapped, whole->address, whole->address + whole->size_bytes, &missing);
	for (size_t i = 0; i < missing.len; i++) {
		struct vt_start_segment part = *whole;

		part.address = missing.items[i].start;
		part.size_bytes = missing.items[i].end - missing.items[i].start;
		vt_vector_push(&f->start->segments, part);
	}
	vt_vector_release(&missing);
}

static void take_entry(struct finding *f, const struct vt_snapshot_entry *entry)
{
	const uint64_t end = entry->address + entry->size_bytes;
	struct vt_start_segment segment = { entry->address, entry->size_bytes, entry->pool,
					    VT_VALUE_UNSET, 0 };

	switch (entry->action) {
	case VT_SNAPSHOT_ALLOC:
		vt_map_put(&f->blocks, key(entry->address), 1);
		break;
	case VT_SNAPSHOT_FREE_REQUESTED:
	case VT_SNAPSHOT_FREE_COMPLETED:
		take_free(f, entry);
		break;
	case VT_SNAPSHOT_SEGMENT_ALLOC:
		vt_map_put(&f->segments, key(entry->address), entry->index);
		break;
	case VT_SNAPSHOT_SEGMENT_FREE:
		if (!vt_map_remove(&f->segments, key(entry->address)))
			vt_vector_push(&f->start->segments, segment);
		break;
	case VT_SNAPSHOT_SEGMENT_MAP:
		vt_ranges_add(&f->mapped, entry->address, end);
		vt_ranges_add(&f->start->expandable, entry->address, end);
		break;
	case VT_SNAPSHOT_SEGMENT_UNMAP:
		segment.is_expandable = 1;
		add_unmade(f, &segment);
		vt_ranges_remove(&f->mapped, entry->address, end);
		vt_ranges_add(&f->start->expandable, entry->address, end);
		break;
	default:
		break;
	}
}

static void take_block(struct finding *f, const struct vt_snapshot_segment *segment,
		      const struct vt_snapshot_block *block)
{
	if (block->state == VT_SNAPSHOT_FREE || vt_map_find(&f->blocks, key(block->address)))
		return;
	vt_vector_push(&f->start->blocks, ((struct vt_start_block){
		.address = block->address,
		.size_bytes = block->size_bytes,
		.requested_bytes = block->requested_bytes,
		.stream = segment->stream,
		.frames = block->frames,
		.forward_frames = block->forward_frames,
		.labels = block->labels,
		.is_pending = block->state == VT_SNAPSHOT_PENDING,
	}));
}

static int take_segment(struct finding *f, const struct vt_snapshot_segment *segment,
			struct vt_diag *diag)
{
	const uint64_t *made = vt_map_find(&f->segments, key(segment->address));
	struct vt_start_segment whole = { segment->address, segment->size_bytes, segment->pool,
					  segment->frames, segment->is_expandable };
	uint64_t end = segment->address + segment->size_bytes, next = segment->address;

	if (segment->is_expandable) {
		add_unmade(f, &whole);
		vt_ranges_add(&f->start->expandable, segment->address, end);
	} else if (!made) {
		vt_vector_push(&f->start->segments, whole);
	}
	if (segment->pool && (made || segment->is_expandable))
		vt_vector_push(&f->start->pools,
			       ((struct vt_start_pool){
				       segment->address, end, segment->pool,
				       segment->is_expandable ? UINT32_MAX : (uint32_t)*made }));
	for (uint32_t i = 0; i < segment->blocks.len; i++) {
		struct vt_snapshot_block block;

		if (vt_snapshot_block_read(f->input, segment, i, next, &block, diag))
			return -1;
		take_block(f, segment, &block);
		next = block.address + block.size_bytes;
	}
	return 0;
}

static int compare_segments(const void *a, const void *b)
{
	const struct vt_start_segment *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct vt_start_block *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_pools(const void *a, const void *b)
{
	const struct vt_start_pool *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int find(struct finding *f, uint32_t device, struct vt_diag *diag)
{
	struct vt_value_list trace = vt_snapshot_trace(f->input, device);
	struct vt_snapshot_segment segment;
	struct vt_snapshot_entry entry;

	for (uint32_t i = 0; i < trace.len; i++) {
		if (vt_snapshot_entry_read(f->input, device, i, &entry, diag))
			return -1;
		if (!f->start->time_us)
			f->start->time_us = entry.time_us;
		take_entry(f, &entry);
	}
	for (uint32_t i = 0; i < f->input->segments.len; i++) {
		if (vt_snapshot_segment_read(f->input, i, &segment, diag))
			return -1;
		if ((uint32_t)segment.device == device && take_segment(f, &segment, diag))
			return -1;
	}
	return 0;
}

int vt_start_find(struct vt_start *start, struct vt_snapshot_input *input, uint32_t device,
		  struct vt_diag *diag)
{
	struct finding f = { .start = start, .input = input };
	int rc;

	memset(start, 0, sizeof(*start));
	rc = find(&f, device, diag);
	if (start->segments.len)
		qsort(start->segments.items, start->segments.len, sizeof(*start->segments.items),
		      compare_segments);
	if (start->blocks.len)
		qsort(start->blocks.items, start->blocks.len, sizeof(*start->blocks.items),
		      compare_blocks);
	if (start->pools.len)
		qsort(start->pools.items, start->pools.len, sizeof(*start->pools.items),
		      compare_pools);
	vt_map_release(&f.blocks);
	vt_map_release(&f.segments);
	vt_vector_release(&f.mapped);
	return rc;
}

void vt_start_release(struct vt_start *start)
{
	vt_vector_release(&start->segments);
	vt_vector_release(&start->blocks);
	vt_vector_release(&start->pools);
	vt_vector_release(&start->expandable);
}

uint64_t vt_start_pool_of(const struct vt_start *start, const struct vt_snapshot_entry *entry)
{
	size_t at = vt_search_first(i, start->pools.len,
				    start->pools.items[i].start <= entry->address);
	const struct vt_start_pool *pool = at ? &start->pools.items[at - 1] : NULL;

	if (entry->pool || !pool || entry->address >= pool->end)
		return entry->pool;
	return pool->made == UINT32_MAX || pool->made == entry->index ? pool->pool : 0;
}
