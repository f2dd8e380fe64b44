/* SPDX-License-Identifier: MIT */
#include "analyzer/model/containers.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

/*
 * A range of addresses with driver memory behind it; ranges that are there at one moment do not
 * overlap.
 */
struct range {
	uint64_t start;
	uint64_t end;
	uint32_t allocation;
};

/* The ranges that are there now, by address. */
struct ranges {
	VT_VECTOR(struct range) sorted;
};

/*
 * Handles of physical memory (cuMemCreate) that are alive now; few: one per granule of 2 or 20 MiB.
 */
struct handles {
	VT_VECTOR(uint32_t) alive; /* indices of allocations */
};

static size_t first_ending_after(const struct ranges *ranges, uint64_t address)
{
	return vt_search_first(i, ranges->sorted.len, ranges->sorted.items[i].end <= address);
}

/* Removes what lies between two addresses; an unmap may cover several maps. */
static void erase(struct ranges *ranges, uint64_t start, uint64_t end)
{
	size_t first = first_ending_after(ranges, start), last = first;

	while (last < ranges->sorted.len && ranges->sorted.items[last].start < end)
		last++;
	if (first == last)
		return;
	memmove(&ranges->sorted.items[first], &ranges->sorted.items[last],
		(ranges->sorted.len - last) * sizeof(struct range));
	ranges->sorted.len -= last - first;
}

static void insert(struct ranges *ranges, uint64_t start, uint64_t size, uint32_t allocation)
{
	struct range range = { start, start + size, allocation };
	size_t at;

	if (start + size <= start)
		return;
	/* What is still here was freed by a call that was not recorded. */
	erase(ranges, start, start + size);
	at = first_ending_after(ranges, start);
	vt_vector_push(&ranges->sorted, range);
	memmove(&ranges->sorted.items[at + 1], &ranges->sorted.items[at],
		(ranges->sorted.len - 1 - at) * sizeof(range));
	ranges->sorted.items[at] = range;
}

static uint32_t find_handle(const struct handles *handles, const struct vt_model *model,
			    uint64_t handle)
{
	for (size_t i = handles->alive.len; i-- > 0;)
		if (model->allocations[handles->alive.items[i]].address == handle)
			return handles->alive.items[i];
	return VT_NO_INDEX;
}

static void drop_handle(struct handles *handles, uint32_t allocation)
{
	for (size_t i = 0; i < handles->alive.len; i++)
		if (handles->alive.items[i] == allocation) {
			handles->alive.items[i] = handles->alive.items[--handles->alive.len];
			return;
		}
}

typedef VT_VECTOR(struct vt_spill) spill_vector;

/*
 * A block may span several maps of one expandable segment: it is put into the first, and what lies
 * in the others is noted.
 */
static void place_block(struct vt_model *model, const struct ranges *ranges, spill_vector *spills,
			uint32_t index)
{
	struct vt_allocation *block = &model->allocations[index];
	const uint64_t block_end = block->address + block->common->size_bytes;
	size_t at = first_ending_after(ranges, block->address);

	for (; at < ranges->sorted.len; at++) {
		const struct range *range = &ranges->sorted.items[at];
		uint64_t end = range->end < block_end ? range->end : block_end;
		struct vt_spill spill = { index, range->allocation, end - range->start };

		if (range->start >= block_end)
			break;
		if (range->start <= block->address)
			block->container = range->allocation;
		else
			vt_vector_push(spills, spill);
		model->allocations[range->allocation].holds_blocks = 1;
	}
}

static void start_allocation(struct vt_model *model, struct ranges *ranges, struct handles *handles,
			     spill_vector *spills, uint32_t index)
{
	const struct vt_allocation *a = &model->allocations[index];

	if (a->common->kind == VT_KIND_BLOCK)
		place_block(model, ranges, spills, index);
	else if (a->common->kind == VT_KIND_VMM)
		vt_vector_push(&handles->alive, index);
	else if (vt_allocation_is_driver(a) && a->common->kind != VT_KIND_ARRAY)
		insert(ranges, a->address, a->common->size_bytes, index);
}

static void end_allocation(const struct vt_model *model, struct ranges *ranges,
			   struct handles *handles, uint32_t index)
{
	const struct vt_allocation *a = &model->allocations[index];

	if (a->common->kind == VT_KIND_VMM)
		drop_handle(handles, index);
	else if (a->common->kind != VT_KIND_BLOCK && a->common->kind != VT_KIND_ARRAY &&
		 vt_allocation_is_driver(a))
		erase(ranges, a->address, a->address + a->common->size_bytes);
}

static void map_or_unmap(const struct vt_model *model, struct ranges *ranges,
			 const struct handles *handles, const struct vt_other_event *event)
{
	uint32_t allocation;

	if (event->op == VT_OP_UNMAP)
		erase(ranges, event->address, event->address + event->size_bytes);
	if (event->op != VT_OP_MAP)
		return;
	allocation = find_handle(handles, model, event->extra);
	if (allocation != VT_NO_INDEX)
		insert(ranges, event->address, event->size_bytes, allocation);
}

static void list_segments(struct vt_model *model)
{
	VT_VECTOR(struct vt_segment) segments = { 0 };

	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].holds_blocks)
			vt_vector_push(&segments, ((struct vt_segment){ .allocation = i }));
	model->segments = segments.items;
	model->nr_segments = (uint32_t)segments.len;
}

void vt_containers_find(struct vt_model *model, const struct vt_timeline *timeline)
{
	struct ranges ranges = { 0 };
	struct handles handles = { 0 };
	spill_vector spills = { 0 };

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		if (moment->what == VT_MOMENT_ALLOC)
			start_allocation(model, &ranges, &handles, &spills, moment->index);
		else if (moment->what == VT_MOMENT_FREE)
			end_allocation(model, &ranges, &handles, moment->index);
		else if (moment->what == VT_MOMENT_OTHER)
			map_or_unmap(model, &ranges, &handles, &model->events[moment->index]);
	}
	vt_vector_release(&ranges.sorted);
	vt_vector_release(&handles.alive);
	model->spills = spills.items;
	model->nr_spills = (uint32_t)spills.len;
	list_segments(model);
}
