/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/layout.h"

#include <string.h>

/* Bytes of a free piece that could go back to the driver: all of a segment, or whole granules. */
static uint64_t returnable(const struct vt_follow *follow, const struct vt_piece *piece)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_trace_segment *segment = &trace->segments.items[piece->segment];
	uint64_t granule, first, last;

	if (follow->event < segment->kept_until)
		return 0; /* a graph's replay writes to it */
	if (!segment->is_expandable)
		return piece->size_bytes == segment->size_bytes ? piece->size_bytes : 0;
	granule = vt_settings_granule(&trace->settings, segment->is_small);
	first = (piece->address - segment->address + granule - 1) / granule;
	last = (piece->address - segment->address + piece->size_bytes) / granule;
	return last > first ? (last - first) * granule : 0;
}

static void add_pin(struct vt_layout *layout, uint32_t allocation, uint64_t bytes)
{
	struct vt_layout_pin pin = { allocation, bytes };
	size_t len = layout->pins.len;

	if (len && layout->pins.items[len - 1].allocation == allocation)
		layout->pins.items[len - 1].bytes += bytes;
	else if (bytes)
		vt_vector_push(&layout->pins, pin);
}

/* All live blocks of a segment from the driver pin all of its free bytes together. */
static void pin_evenly(struct vt_layout *layout, const struct vt_piece *piece,
		       const struct vt_layout_segment *segment)
{
	for (; piece && segment->pinned_bytes; piece = piece->next)
		if (piece->is_allocated)
			add_pin(layout, piece->holder, segment->pinned_bytes / segment->nr_blocks);
}

/*
 * In an expandable segment only granules are kept: the rest of a free piece at either end is pinned
 * by the block beside it.
 */
static void pin_beside(struct vt_layout *layout, const struct vt_follow *follow,
		       const struct vt_piece *piece)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_trace_segment *segment = &trace->segments.items[piece->segment];
	uint64_t granule = vt_settings_granule(&trace->settings, segment->is_small);
	uint64_t back = returnable(follow, piece);
	uint64_t front = (granule - (piece->address - segment->address) % granule) % granule;
	const struct vt_piece *before = piece->previous, *behind = piece->next;

	if (!back || front > piece->size_bytes)
		front = piece->size_bytes / 2;
	if (!before || !before->is_allocated)
		front = 0;
	else
		add_pin(layout, before->holder, front);
	if (behind && behind->is_allocated)
		add_pin(layout, behind->holder, piece->size_bytes - back - front);
}

static void measure(struct vt_layout *layout, const struct vt_follow *follow,
		    const struct vt_piece *first, struct vt_layout_segment *segment)
{
	struct vt_layout_totals *totals = &layout->totals;

	for (const struct vt_piece *piece = first; piece; piece = piece->next) {
		uint64_t back;

		if (!piece->is_mapped)
			continue;
		segment->mapped_bytes += piece->size_bytes;
		if (piece->is_allocated) {
			segment->allocated_bytes += piece->size_bytes;
			segment->nr_blocks++;
			continue;
		}
		back = returnable(follow, piece);
		segment->free_bytes += back;
		segment->pinned_bytes += piece->size_bytes - back;
		segment->nr_free++;
		if (piece->size_bytes > totals->largest_free_bytes)
			totals->largest_free_bytes = piece->size_bytes;
	}
}

static void add_totals(struct vt_layout_totals *totals, const struct vt_layout_segment *segment)
{
	totals->reserved_bytes += segment->mapped_bytes;
	totals->allocated_bytes += segment->allocated_bytes;
	totals->free_bytes += segment->free_bytes;
	totals->pinned_bytes += segment->pinned_bytes;
	totals->cached_bytes += segment->free_bytes + segment->pinned_bytes;
	totals->nr_free += segment->nr_free;
	totals->nr_segments++;
}

static void find_pins(struct vt_layout *layout, const struct vt_follow *follow,
		      const struct vt_piece *first, const struct vt_layout_segment *segment)
{
	if (!follow->trace->segments.items[segment->segment].is_expandable) {
		pin_evenly(layout, first, segment);
		return;
	}
	for (const struct vt_piece *piece = first; piece; piece = piece->next)
		if (piece->is_mapped && !piece->is_allocated)
			pin_beside(layout, follow, piece);
}

void vt_layout_init(struct vt_layout *layout, const struct vt_follow *follow, int is_brief)
{
	const struct vt_trace *trace = follow->trace;

	memset(layout, 0, sizeof(*layout));
	for (uint32_t i = 0; i < trace->segments.len; i++) {
		const struct vt_piece *first = NULL;
		struct vt_layout_segment segment = { .segment = i };

		if (!trace->segments.items[i].is_request)
			first = vt_follow_segment(follow, i);
		measure(layout, follow, first, &segment);
		if (!segment.mapped_bytes)
			continue;
		add_totals(&layout->totals, &segment);
		if (is_brief)
			continue;
		vt_vector_push(&layout->segments, segment);
		find_pins(layout, follow, first, &segment);
	}
}

void vt_layout_release(struct vt_layout *layout)
{
	vt_vector_release(&layout->segments);
	vt_vector_release(&layout->pins);
}

static uint64_t *account_for(struct vt_layout_account *account, const struct vt_trace *trace,
			     const struct vt_piece *piece, uint32_t stream)
{
	const struct vt_settings *settings = &trace->settings;
	const struct vt_trace_segment *segment = &trace->segments.items[piece->segment];
	uint64_t request = account->request_bytes, limit = settings->max_split_bytes;

	if (segment->is_small != vt_settings_is_small(request))
		return &account->other_pool_bytes;
	if (piece->size_bytes < request)
		return &account->too_small_bytes;
	if (segment->pool)
		return &account->private_pool_bytes;
	if (segment->stream != stream)
		return &account->other_stream_bytes;
	if (request < limit ? piece->size_bytes >= limit
			    : piece->size_bytes - request >= settings->max_rounding_bytes)
		return &account->unsplittable_bytes;
	return &account->serving_bytes;
}

void vt_layout_account(struct vt_layout_account *account, const struct vt_follow *follow,
		       uint64_t request_bytes, uint32_t stream, uint64_t used_bytes)
{
	const struct vt_trace *trace = follow->trace;

	memset(account, 0, sizeof(*account));
	account->request_bytes = vt_settings_round(&trace->settings, request_bytes);
	account->segment_bytes = vt_settings_segment(&trace->settings, account->request_bytes);
	account->device_free_bytes = UINT64_MAX;
	if (trace->device_bytes)
		account->device_free_bytes =
			trace->capacity_bytes > used_bytes ? trace->capacity_bytes - used_bytes : 0;
	for (int is_small = 0; is_small < 2; is_small++) {
		const struct vt_pool *pool =
			vt_pools_half((struct vt_pools *)&follow->pools, 0, is_small);

		for (const struct vt_piece *piece = vt_free_set_first(&pool->free); piece;
		     piece = vt_free_set_next(piece)) {
			*account_for(account, trace, piece, stream) += piece->size_bytes;
			account->returnable_bytes += returnable(follow, piece);
		}
	}
}
