/* SPDX-License-Identifier: MIT */
#include "analyzer/model/containers.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
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

/* Driver memory that is found by its address. */
static int is_range(const struct vt_allocation *a)
{
	return vt_allocation_is_driver(a) && a->common->kind != VT_KIND_BLOCK &&
	       a->common->kind != VT_KIND_VMM && a->common->kind != VT_KIND_ARRAY;
}

static void start_allocation(struct vt_model *model, struct ranges *ranges, struct handles *handles,
			     spill_vector *spills, uint32_t index)
{
	const struct vt_allocation *a = &model->allocations[index];

	if (a->common->kind == VT_KIND_BLOCK)
		place_block(model, ranges, spills, index);
	else if (a->common->kind == VT_KIND_VMM)
		vt_vector_push(&handles->alive, index);
	else if (is_range(a))
		insert(ranges, a->address, a->common->size_bytes, index);
}

static void end_allocation(const struct vt_model *model, struct ranges *ranges,
			   struct handles *handles, uint32_t index)
{
	const struct vt_allocation *a = &model->allocations[index];

	if (a->common->kind == VT_KIND_VMM)
		drop_handle(handles, index);
	else
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

/* What changes where driver memory is, besides allocations: few, as blocks do not. */
struct change {
	uint32_t event;
	uint8_t is_event; /* a map or an unmap; else the end of driver memory, which comes first */
	uint32_t index;   /* of vt_model.events, or of the allocation */
};

typedef VT_VECTOR(struct change) change_vector;

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->is_event - y->is_event;
}

static void list_changes(const struct vt_model *model, change_vector *changes)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct change change = { a->freed_event, 0, i };

		if (a->freed_event != VT_NEVER && (a->common->kind == VT_KIND_VMM || is_range(a)))
			vt_vector_push(changes, change);
	}
	for (uint32_t i = 0; i < model->nr_events; i++) {
		struct change change = { vt_allocation_event(model->events[i].event), 1, i };

		vt_vector_push(changes, change);
	}
	vt_vector_sort(changes, compare_changes);
}

/* A change with the event of an allocation comes before it. */
static void make_change(struct vt_model *model, struct ranges *ranges, struct handles *handles,
			const struct change *change)
{
	if (change->is_event)
		map_or_unmap(model, ranges, handles, &model->events[change->index]);
	else
		end_allocation(model, ranges, handles, change->index);
}

void vt_containers_find(struct vt_model *model)
{
	struct ranges ranges = { 0 };
	struct handles handles = { 0 };
	spill_vector spills = { 0 };
	change_vector changes = { 0 };
	size_t next = 0;

	list_changes(model, &changes);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		while (next < changes.len &&
		       changes.items[next].event <= model->allocations[i].event)
			make_change(model, &ranges, &handles, &changes.items[next++]);
		start_allocation(model, &ranges, &handles, &spills, i);
	}
	vt_vector_release(&changes);
	vt_vector_release(&ranges.sorted);
	vt_vector_release(&handles.alive);
	model->spills = spills.items;
	model->nr_spills = (uint32_t)spills.len;
	list_segments(model);
}
