/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/requests.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/replay/follow.h"

/* Requests of one place to look at before and behind: places repeat from step to step. */
#define MAX_NEIGHBOURS 64

struct take {
	uint64_t place;
	uint32_t step;
	uint64_t least_bytes; /* of the request; the block's size where that is the request */
	uint64_t bytes;       /* of the block */
	uint64_t seen_bytes;  /* what the probe's storage makes it; 0: not seen */
};

VT_VECTOR_DECLARE(takes, struct take);

struct gathering {
	struct takes takes;
	uint32_t *takes_of; /* by allocation: index + 1 */
	uint32_t next_tensor; /* of the model: those that the probe saw, in order of events */
};

/* Whether a block needs no guess: its request was recorded, or is what no tail was added to. */
static int is_recorded(const struct vt_allocation *block)
{
	return block->common->requested_bytes ||
	       block->common->size_bytes == VT_SETTINGS_BLOCK_ROUNDING;
}

static int are_all_recorded(const struct vt_trace *trace)
{
	for (size_t i = 0; i < trace->steps.len; i++)
		if (trace->steps.items[i].op == VT_TRACE_TAKE &&
		    !is_recorded(&trace->model->allocations[trace->steps.items[i].allocation]))
			return 0;
	return 1;
}

static uint64_t place_of(const struct vt_allocation *block)
{
	return ((uint64_t)block->common->made->native_stack << 32 |
		block->common->made->python_stack) ^
	       (uint64_t)block->common->made->node_class << 24;
}

/* The longest tail that the allocator would have left on this block. */
static uint64_t longest_tail(const struct vt_trace *trace, const struct vt_piece *piece,
			     int is_fresh)
{
	const struct vt_settings *settings = &trace->settings;

	if (piece->pool->is_small || settings->is_expandable)
		return 0;
	if (piece->size_bytes < settings->max_split_bytes)
		return VT_SETTINGS_SMALL_MAX;
	return is_fresh ? VT_SETTINGS_SEGMENT_ROUNDING - VT_SETTINGS_BLOCK_ROUNDING
			: settings->max_rounding_bytes - VT_SETTINGS_BLOCK_ROUNDING;
}

/* The largest piece that is free now and smaller than the block of a TAKE; 0: none. */
static uint64_t largest_below(const struct vt_follow *follow, const struct vt_trace_step *step)
{
	const struct vt_trace *trace = follow->trace;
	uint32_t segment = vt_trace_segment(trace, step);
	const struct vt_piece *below;

	if (step->op != VT_TRACE_TAKE || segment == VT_NO_INDEX)
		return 0;
	below = vt_free_set_before(
		&vt_pools_half((struct vt_pools *)&follow->pools, 0,
			       trace->segments.items[segment].is_small)
			 ->free,
		0, trace->model->allocations[step->allocation].common->size_bytes, 0);
	return below ? below->size_bytes : 0;
}

/*
 * A request was larger than every free piece below the one that it got.  (The pieces of other
 * streams count too: that makes the bound too high at times, never the answer impossible.)
 */
static uint64_t least_request(const struct vt_piece *piece, uint64_t tail_bytes, uint64_t below)
{
	uint64_t least = piece->size_bytes - tail_bytes;

	/* Smaller ones have a pool of their own. */
	if (tail_bytes && least <= VT_SETTINGS_SMALL_MAX)
		least = VT_SETTINGS_SMALL_MAX + VT_SETTINGS_BLOCK_ROUNDING;
	return below >= least ? below + VT_SETTINGS_BLOCK_ROUNDING : least;
}

static struct take look_at(const struct vt_follow *follow, const struct vt_trace_step *step,
			   uint64_t below)
{
	const struct vt_trace *trace = follow->trace;
	const struct vt_allocation *block = &trace->model->allocations[step->allocation];
	const struct vt_piece *piece = vt_follow_place(follow, step);
	struct take take = {
		.place = place_of(block),
		.step = (uint32_t)(step - trace->steps.items),
		.bytes = block->common->size_bytes,
		.least_bytes = block->common->size_bytes,
	};

	if (is_recorded(block))
		take.seen_bytes = vt_settings_round(&trace->settings, vt_trace_bytes(trace, step));
	else if (piece && vt_trace_segment(trace, step) != VT_NO_INDEX &&
		 piece->size_bytes == block->common->size_bytes)
		take.least_bytes = least_request(
			piece, longest_tail(trace, piece, vt_follow_is_new(follow, step)), below);
	return take;
}

/* What was seen before this step belongs to the blocks that are live now. */
static void use_storages(struct gathering *gathering, const struct vt_follow *follow,
			 int64_t before_event)
{
	const struct vt_model *model = follow->trace->model;

	for (; gathering->next_tensor < model->nr_tensors; gathering->next_tensor++) {
		const struct vt_tensor *seen = &model->tensors[gathering->next_tensor];
		const struct vt_piece *piece;
		uint64_t rounded;
		struct take *take;

		if (seen->event >= before_event)
			return;
		if (seen->device != follow->trace->device)
			continue;
		piece = vt_follow_at(follow, seen->address);
		if (!piece || !piece->is_allocated || !gathering->takes_of[piece->holder])
			continue;
		take = &gathering->takes.items[gathering->takes_of[piece->holder] - 1];
		rounded = vt_settings_round(&follow->trace->settings, seen->size_bytes);
		if (rounded >= take->least_bytes && rounded <= take->bytes)
			take->seen_bytes = rounded;
	}
}

static void gather(struct gathering *gathering, const struct vt_trace *trace)
{
	const struct vt_trace_step *step;
	struct vt_follow follow;

	vt_follow_init(&follow, trace);
	while ((step = vt_follow_peek(&follow))) {
		uint64_t below = largest_below(&follow, step);
		int is_before = vt_follow_is_searched_before(&follow, step);

		use_storages(gathering, &follow, vt_trace_event(trace, step));
		vt_follow_next(&follow);
		if (step->op == VT_TRACE_TAKE) {
			struct take take = look_at(
				&follow, step, is_before ? below : largest_below(&follow, step));

			vt_vector_push(&gathering->takes, take);
			gathering->takes_of[step->allocation] = (uint32_t)gathering->takes.len;
		}
		vt_follow_make(&follow, step);
	}
	use_storages(gathering, &follow, VT_NEVER);
	vt_follow_release(&follow);
}

static int compare_takes(const void *a, const void *b)
{
	const struct take *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* 0: not known for sure. */
static uint64_t known_bytes(const struct take *take)
{
	return take->least_bytes == take->bytes ? take->bytes : take->seen_bytes;
}

static int could_be(const struct take *take, const struct take *other)
{
	uint64_t known = known_bytes(other);

	return other->place == take->place && known >= take->least_bytes && known <= take->bytes;
}

/* The size of the nearest request from there that was cut exactly and fits; 0 where none is. */
static uint64_t likely_bytes(const struct takes *takes, size_t at)
{
	const struct take *take = &takes->items[at];

	for (size_t i = 1; i <= MAX_NEIGHBOURS; i++) {
		if (i <= at && could_be(take, take - i))
			return known_bytes(take - i);
		if (at + i < takes->len && could_be(take, take + i))
			return known_bytes(take + i);
	}
	return 0;
}

static void settle(struct vt_requests *requests, struct vt_trace *trace, const struct takes *takes,
		   size_t at)
{
	const struct take *take = &takes->items[at];
	uint32_t block = trace->steps.items[take->step].allocation;
	uint64_t likely;

	if (known_bytes(take)) {
		requests->nr_known++;
		if (!is_recorded(&trace->model->allocations[block]))
			trace->guessed_bytes[block] = known_bytes(take);
		return;
	}
	likely = likely_bytes(takes, at);
	if (likely) {
		requests->nr_likely++;
		trace->guessed_bytes[block] = likely;
		return;
	}
	requests->nr_blocks++;
	requests->tail_bytes += take->bytes - take->least_bytes;
	trace->guessed_bytes[block] = vt_settings_round_down(&trace->settings, take->bytes);
}

void vt_requests_find(struct vt_requests *requests, struct vt_trace *trace)
{
	struct gathering gathering = { 0 };
	struct takes *takes = &gathering.takes;

	memset(requests, 0, sizeof(*requests));
	if (are_all_recorded(trace)) {
		requests->nr_known = trace->nr_blocks;
		return;
	}
	gathering.takes_of = vt_xcalloc((size_t)trace->model->nr_allocations + 1, sizeof(uint32_t));
	gather(&gathering, trace);
	vt_vector_sort(takes, compare_takes);
	trace->guessed_bytes =
		vt_xcalloc((size_t)trace->model->nr_allocations + 1, sizeof(uint64_t));
	for (size_t i = 0; i < takes->len; i++)
		settle(requests, trace, takes, i);
	vt_vector_release(takes);
	free(gathering.takes_of);
}
