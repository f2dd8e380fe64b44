/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/follow.h"

#include <string.h>

void vt_follow_init(struct vt_follow *follow, const struct vt_trace *trace)
{
	memset(follow, 0, sizeof(*follow));
	follow->trace = trace;
	vt_card_init(&follow->card, UINT64_MAX);
	vt_pools_init(&follow->pools, &trace->settings, &follow->card, trace->device_bytes);
	follow->nr_live = vt_xcalloc(trace->segments.len + 1, sizeof(uint32_t));
}

void vt_follow_release(struct vt_follow *follow)
{
	vt_pools_release(&follow->pools);
	vt_card_release(&follow->card);
	vt_map_release(&follow->starts);
	vt_holdings_release(&follow->holdings);
	free(follow->nr_live);
	memset(follow, 0, sizeof(*follow));
}

struct vt_piece *vt_follow_at(const struct vt_follow *follow, uint64_t address)
{
	const uint64_t *found = vt_map_find(&follow->starts, (struct vt_key){ .a = address });

	return found ? (struct vt_piece *)(uintptr_t)*found : NULL;
}

static void index_piece(struct vt_follow *follow, struct vt_piece *piece)
{
	vt_map_put(&follow->starts, (struct vt_key){ .a = piece->address }, (uintptr_t)piece);
}

static void forget_start(struct vt_follow *follow, uint64_t address)
{
	vt_map_remove(&follow->starts, (struct vt_key){ .a = address });
}

/* Among the free ones, with the starts that disappear in it forgotten. */
static void insert_merged(struct vt_follow *follow, struct vt_piece *piece)
{
	uint64_t start = piece->address, end = start + piece->size_bytes;

	vt_pools_merge(&follow->pools, piece);
	if (piece->address != start)
		forget_start(follow, start);
	if (piece->address + piece->size_bytes != end)
		forget_start(follow, end);
	index_piece(follow, piece);
	vt_pools_insert(piece);
}

static struct vt_piece *new_piece(struct vt_follow *follow, uint32_t number, int is_mapped)
{
	const struct vt_trace_segment *segment = &follow->trace->segments.items[number];
	struct vt_pool *pool = vt_pools_half(&follow->pools, 0, segment->is_small);
	struct vt_piece *piece =
		vt_pools_piece_new(&follow->pools, pool, 0, segment->address, segment->size_bytes);

	piece->segment = number;
	piece->is_mapped = (uint8_t)is_mapped;
	insert_merged(follow, piece);
	return piece;
}

/* The piece of an expandable segment around an address; the segment is made where it is new. */
static struct vt_piece *piece_around(struct vt_follow *follow, uint64_t address, uint32_t segment)
{
	struct vt_piece *piece = vt_follow_at(follow, address);

	if (piece && piece->segment == segment)
		return piece;
	piece = vt_follow_segment(follow, segment);
	if (!piece)
		return new_piece(follow, segment, 0);
	while (piece && address - piece->address >= piece->size_bytes)
		piece = piece->next;
	return piece;
}

static void take_out(struct vt_follow *follow, struct vt_piece *piece)
{
	vt_pools_remove(piece);
	forget_start(follow, piece->address);
}

static void put_back(struct vt_follow *follow, struct vt_piece *piece)
{
	index_piece(follow, piece);
	vt_pools_insert(piece);
}

/* Makes [address, address + bytes) of a free piece a piece of its own, in no set. */
static struct vt_piece *cut_out(struct vt_follow *follow, struct vt_piece *piece,
				const struct vt_trace_change *change)
{
	struct vt_piece *rest = piece;

	take_out(follow, piece);
	if (change->address > piece->address)
		put_back(follow,
			 vt_pools_split(&follow->pools, piece, change->address - piece->address));
	if (piece->size_bytes <= change->bytes)
		return piece;
	piece = vt_pools_split(&follow->pools, rest, change->bytes);
	put_back(follow, rest);
	return piece;
}

static void map_or_unmap(struct vt_follow *follow, const struct vt_trace_change *change)
{
	int is_map = change->op == VT_SEGMENT_MAP;
	struct vt_piece *piece = piece_around(follow, change->address, change->segment);

	if (!piece || piece->is_allocated || piece->is_mapped == is_map ||
	    change->address + change->bytes > piece->address + piece->size_bytes)
		return;
	piece = cut_out(follow, piece, change);
	piece->is_mapped = (uint8_t)is_map;
	insert_merged(follow, piece);
}

static void make_change(struct vt_follow *follow, const struct vt_trace_change *change)
{
	struct vt_piece *piece;

	if (change->op == VT_SEGMENT_MAP || change->op == VT_SEGMENT_UNMAP) {
		map_or_unmap(follow, change);
	} else if (change->op == VT_SEGMENT_TAKE) {
		new_piece(follow, change->segment, 1);
	} else {
		piece = vt_follow_at(follow, change->address);
		if (!piece || piece->is_allocated || piece->size_bytes != change->bytes)
			return;
		take_out(follow, piece);
		vt_pools_piece_free(&follow->pools, piece);
	}
	vt_pools_note(&follow->pools, change->op, change->address, change->bytes);
}

const struct vt_trace_step *vt_follow_peek(const struct vt_follow *follow)
{
	const struct vt_trace *trace = follow->trace;

	return follow->next_step < trace->steps.len ? &trace->steps.items[follow->next_step] : NULL;
}

int vt_follow_is_new(const struct vt_follow *follow, const struct vt_trace_step *step)
{
	const struct vt_trace *trace = follow->trace;
	int64_t before = step > trace->steps.items ? vt_trace_event(trace, step - 1) : 0;
	uint32_t segment = vt_trace_segment(trace, step);

	if (step->op == VT_TRACE_FAILED)
		return 1;
	return step->op == VT_TRACE_TAKE && segment != VT_NO_INDEX &&
	       trace->segments.items[segment].taken_event > before;
}

int vt_follow_is_searched_before(const struct vt_follow *follow, const struct vt_trace_step *step)
{
	return vt_follow_is_new(follow, step) &&
	       !(step > follow->trace->steps.items && step[-1].op == VT_TRACE_EMPTY_CACHE);
}

const struct vt_trace_step *vt_follow_next(struct vt_follow *follow)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_trace_step *step = NULL;

	if (follow->next_step < trace->steps.len)
		step = &trace->steps.items[follow->next_step++];
	while (follow->next_change < trace->changes.len &&
	       (!step ||
		trace->changes.items[follow->next_change].event < vt_trace_event(trace, step)))
		make_change(follow, &trace->changes.items[follow->next_change++]);
	return step;
}

struct vt_piece *vt_follow_place(const struct vt_follow *follow, const struct vt_trace_step *step)
{
	const struct vt_allocation *block = &follow->trace->model->allocations[step->allocation];
	struct vt_piece *piece = vt_follow_at(follow, block->address);

	return piece && !piece->is_allocated && piece->is_mapped &&
			       piece->size_bytes >= block->common->size_bytes
		       ? piece
		       : NULL;
}

static void hold(struct vt_follow *follow, uint32_t allocation, struct vt_piece *piece)
{
	index_piece(follow, piece);
	piece->is_allocated = 1;
	piece->holder = allocation;
	vt_holdings_add(&follow->holdings, allocation, piece);
	follow->nr_live[piece->segment]++;
}

static void take(struct vt_follow *follow, const struct vt_trace_step *step)
{
	const struct vt_allocation *block = &follow->trace->model->allocations[step->allocation];
	struct vt_piece *piece = vt_follow_place(follow, step);

	if (!piece)
		return;
	vt_pools_remove(piece);
	if (piece->size_bytes > block->common->size_bytes) {
		struct vt_piece *rest = piece;

		piece = vt_pools_split(&follow->pools, rest, block->common->size_bytes);
		index_piece(follow, rest);
		vt_pools_insert(rest);
	}
	hold(follow, step->allocation, piece);
	follow->pools.allocated_bytes += piece->size_bytes;
}

static void give(struct vt_follow *follow, uint32_t allocation)
{
	struct vt_piece *piece = vt_holdings_remove(&follow->holdings, allocation);

	if (!piece)
		return;
	follow->nr_live[piece->segment]--;
	follow->pools.allocated_bytes -= piece->size_bytes;
	piece->is_allocated = 0;
	piece->holder = VT_PIECE_NOBODY;
	insert_merged(follow, piece);
}

void vt_follow_make(struct vt_follow *follow, const struct vt_trace_step *step)
{
	follow->event = vt_trace_event(follow->trace, step);
	if (step->op == VT_TRACE_TAKE)
		take(follow, step);
	else if (step->op == VT_TRACE_GIVE)
		give(follow, step->allocation);
}

/* Without what made room for it at the front of a free piece. */
static void take_anywhere(struct vt_follow *follow, uint32_t allocation)
{
	const struct vt_allocation *block = &follow->trace->model->allocations[allocation];
	struct vt_piece *piece =
		vt_pools_take_at(&follow->pools, block->address, block->common->size_bytes);

	if (!piece)
		return;
	if (piece->previous && !piece->previous->is_allocated)
		index_piece(follow, piece->previous);
	if (piece->next && !piece->next->is_allocated)
		index_piece(follow, piece->next);
	hold(follow, allocation, piece);
}

/* The lap that begins here and is over at `event`, with nothing in it but blocks; NULL: none. */
static const struct vt_lap *whole_lap(struct vt_follow *follow, int64_t event)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_lap *laps = trace->laps.items.items;
	size_t nr = trace->laps.items.len;

	while (follow->next_lap + 1 < nr && laps[follow->next_lap].first_step < follow->next_step)
		follow->next_lap++;
	if (follow->next_lap + 1 >= nr || laps[follow->next_lap].first_step != follow->next_step)
		return NULL;
	laps += follow->next_lap;
	return laps->is_simple && laps->is_unchanged && laps[1].first_step <= trace->steps.len &&
			       vt_trace_event(trace, &trace->steps.items[laps[1].first_step - 1]) <=
				       event
		       ? laps
		       : NULL;
}

/* What a lap gives back and leaves behind, without the steps between. */
static void pass(struct vt_follow *follow, const struct vt_lap *lap)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_lap_kind *kind = &trace->laps.kinds.items[lap->kind];
	const int32_t *distances = &trace->laps.distances.items[kind->first];

	for (uint32_t i = 0; i < kind->nr_given; i++)
		give(follow, lap->first_allocation + (uint32_t)distances[i]);
	for (uint32_t i = kind->nr_given; i < kind->nr_given + kind->nr_kept; i++)
		take_anywhere(follow, lap->first_allocation + (uint32_t)distances[i]);
	follow->next_step = lap[1].first_step;
	follow->event = vt_trace_event(trace, &trace->steps.items[follow->next_step - 1]);
}

void vt_follow_to(struct vt_follow *follow, int64_t event)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_lap *lap;

	while (follow->next_step < trace->steps.len &&
	       vt_trace_event(trace, &trace->steps.items[follow->next_step]) <= event)
		if ((lap = whole_lap(follow, event)))
			pass(follow, lap);
		else
			vt_follow_make(follow, vt_follow_next(follow));
	while (follow->next_change < trace->changes.len &&
	       trace->changes.items[follow->next_change].event <= event)
		make_change(follow, &trace->changes.items[follow->next_change++]);
}

struct vt_piece *vt_follow_segment(const struct vt_follow *follow, uint32_t segment)
{
	struct vt_piece *piece =
		vt_follow_at(follow, follow->trace->segments.items[segment].address);

	return piece && piece->segment == segment ? piece : NULL;
}
