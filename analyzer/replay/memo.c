/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/memo.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/replay/allocator.h"

static size_t nr_laps(const struct vt_memo *memo)
{
	size_t len = memo->trace->laps.items.len;

	return len ? len - 1 : 0;
}

static void go_to(struct vt_memo *memo, size_t lap)
{
	memo->lap = lap;
	memo->boundary =
		lap < nr_laps(memo) ? memo->trace->laps.items.items[lap].first_step : SIZE_MAX;
}

void vt_memo_init(struct vt_memo *memo, const struct vt_trace *trace,
		  const struct vt_replay_options *options)
{
	memset(memo, 0, sizeof(*memo));
	memo->trace = trace;
	memo->options = options;
	go_to(memo, vt_settings_is_collecting(&options->settings) ? nr_laps(memo) : 0);
}

void vt_memo_release(struct vt_memo *memo)
{
	vt_map_release(&memo->known);
	vt_vector_release(&memo->laps);
	vt_vector_release(&memo->blocks);
	vt_vector_release(&memo->gone);
	vt_vector_release(&memo->touched);
}

static const struct vt_lap *lap_at(const struct vt_memo *memo)
{
	return &memo->trace->laps.items.items[memo->lap];
}

static const struct vt_lap_kind *kind_of(const struct vt_memo *memo, const struct vt_lap *lap)
{
	return &memo->trace->laps.kinds.items[lap->kind];
}

static int is_within(const struct vt_lap *lap, size_t step)
{
	return step >= lap[0].first_step && step < lap[1].first_step;
}

/* Only what is asked for again is worth knowing; a trace may be cut behind a step. */
static int can_be_known(const struct vt_memo *memo, const struct vt_lap *lap)
{
	const struct vt_replay_options *options = memo->options;

	return lap->is_simple && kind_of(memo, lap)->nr_laps > 1 &&
	       lap[1].first_step <= memo->trace->steps.len &&
	       !is_within(lap, options->emptied_step) &&
	       !(options->noted && is_within(lap, options->noted_step)) &&
	       (lap->is_unchanged || !options->is_compared);
}

static uint64_t mix_block(uint64_t hash, const struct vt_replay_state *state, uint32_t allocation)
{
	const struct vt_piece *piece = vt_holdings_find(&state->holdings, allocation);

	return vt_hash_mix(hash, piece ? vt_replay_place(piece) : 0);
}

/* Requests that the caller changed. */
static uint64_t mix_changed(struct vt_memo *memo, const struct vt_lap *lap, uint64_t hash)
{
	const struct vt_replay_options *options = memo->options;
	const struct vt_replay_request *all = options->changed;
	size_t at = memo->next_changed;

	while (at < options->nr_changed && all[at].allocation < lap->first_allocation)
		at++;
	for (; at < options->nr_changed && all[at].allocation < lap[1].first_allocation; at++)
		hash = vt_hash_mix(vt_hash_mix(hash, all[at].allocation - lap->first_allocation),
				   all[at].bytes);
	memo->next_changed = at;
	return hash;
}

/* ... or says. */
static uint64_t mix_requests(const struct vt_memo *memo, const struct vt_lap *lap, uint64_t hash)
{
	const struct vt_trace_step *steps = memo->trace->steps.items;
	const struct vt_replay_options *options = memo->options;

	for (size_t i = lap->first_step; i < lap[1].first_step; i++)
		if (steps[i].op == VT_TRACE_TAKE)
			hash = vt_hash_mix(
				hash, options->request_of(options->request_context, &steps[i]));
	return hash;
}

/* Of a block that the lap takes, or that each lap of its kind gives back. */
static int is_near(const struct vt_memo *memo, const struct vt_lap *lap, uint32_t allocation)
{
	const struct vt_lap_kind *kind = kind_of(memo, lap);
	const int32_t *given = &memo->trace->laps.distances.items[kind->first];
	int32_t distance = (int32_t)allocation - (int32_t)lap->first_allocation;
	uint32_t at = 0;

	while (distance < 0 && at < kind->nr_given && given[at] != distance)
		at++;
	return distance >= 0 || at < kind->nr_given;
}

/* Steps that the trace does not have, up to the last one of the lap; `next`: the first behind. */
static uint64_t mix_more(struct vt_memo *memo, const struct vt_lap *lap,
			 const struct vt_replay_state *state, uint64_t hash, size_t *next)
{
	const struct vt_replay_options *options = memo->options;
	const struct vt_trace_step *steps = memo->trace->steps.items;
	const struct vt_trace_step *last = &steps[lap[1].first_step - 1];
	int64_t first_event = vt_trace_event(memo->trace, &steps[lap->first_step]);
	int64_t last_event = vt_trace_event(memo->trace, last);

	memo->touched.len = 0;
	for (*next = state->next_more; *next < options->nr_more; ++*next) {
		const struct vt_replay_more *more = &options->more[*next];
		uint32_t number = more->step.allocation;

		if (!vt_replay_more_is_before(more, last, last_event))
			break;
		hash = vt_hash_mix(hash, (uint64_t)((int64_t)more->event - first_event) << 3 |
						 more->step.op);
		hash = vt_hash_mix(hash, more->bytes);
		if (more->step.op == VT_TRACE_TAKE)
			hash = vt_hash_mix(hash, vt_trace_server(memo->trace, &more->step));
		if (is_near(memo, lap, number)) {
			hash = vt_hash_mix(hash, number - lap->first_allocation);
			continue;
		}
		hash = mix_block(vt_hash_mix(hash, number), state, number);
		vt_vector_push(&memo->touched, number);
	}
	return hash;
}

/* Everything that decides what playing the lap comes to. */
static struct vt_key key_of(struct vt_memo *memo, const struct vt_lap *lap,
			    const struct vt_replay_state *state, size_t *next_more)
{
	const struct vt_replay_options *options = memo->options;
	const struct vt_lap_kind *kind = kind_of(memo, lap);
	const int32_t *given = &memo->trace->laps.distances.items[kind->first];
	uint64_t hash = vt_hash_mix(state->nr_changes, state->card.used_bytes);

	if (options->is_compared)
		hash = vt_hash_mix(hash, state->recorded_reserved_bytes);
	if (options->is_compared || options->nr_more)
		hash = vt_hash_mix(hash, lap->as_recorded);
	for (uint32_t i = 0; i < kind->nr_given; i++)
		hash = mix_block(hash, state, lap->first_allocation + (uint32_t)given[i]);
	if (options->nr_changed)
		hash = mix_changed(memo, lap, hash);
	if (options->request_of)
		hash = mix_requests(memo, lap, hash);
	*next_more = state->next_more;
	if (options->nr_more)
		hash = mix_more(memo, lap, state, hash, next_more);
	return (struct vt_key){ hash, state->occupied, lap->kind };
}

static void count(struct vt_memo_lap *counts, const struct vt_replay_state *state)
{
	const struct vt_replay *replay = state->replay;

	*counts = (struct vt_memo_lap){
		.occupied = state->occupied,
		.used_bytes = state->card.used_bytes,
		.nr_blocks = replay->nr_blocks,
		.nr_blocks_elsewhere = replay->nr_blocks_elsewhere,
		.nr_changes_other = replay->nr_changes_other,
		.nr_reserved_other = replay->nr_reserved_other,
	};
}

static void subtract(struct vt_memo_lap *counts, const struct vt_memo_lap *before)
{
	counts->occupied -= before->occupied;
	counts->used_bytes -= before->used_bytes;
	counts->nr_blocks -= before->nr_blocks;
	counts->nr_blocks_elsewhere -= before->nr_blocks_elsewhere;
	counts->nr_changes_other -= before->nr_changes_other;
	counts->nr_reserved_other -= before->nr_reserved_other;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Where it lies, if it is alive. */
static void add_kept(struct vt_memo *memo, const struct vt_replay_state *state, uint32_t allocation,
		     struct vt_memo_block block)
{
	const struct vt_piece *piece = vt_holdings_find(&state->holdings, allocation);

	if (!piece)
		return;
	block.address = piece->address;
	block.size_bytes = piece->size_bytes;
	vt_vector_push(&memo->blocks, block);
}

static void add_blocks(struct vt_memo *memo, const struct vt_lap *lap,
		       const struct vt_replay_state *state, struct vt_memo_lap *known)
{
	const struct vt_lap_kind *kind = kind_of(memo, lap);
	const int32_t *distances = &memo->trace->laps.distances.items[kind->first];
	struct vt_memo_block near = { .is_near = 1 }, far = { 0 };

	known->first_block = (uint32_t)memo->blocks.len;
	memo->touched.len = vt_group(memo->touched.items, memo->touched.len, compare_numbers, NULL);
	for (uint32_t i = 0; i < kind->nr_given; i++) {
		near.number = (uint32_t)distances[i];
		vt_vector_push(&memo->blocks, near);
	}
	for (size_t i = 0; i < memo->touched.len; i++) {
		far.number = memo->touched.items[i];
		vt_vector_push(&memo->blocks, far);
	}
	known->nr_given = (uint32_t)memo->blocks.len - known->first_block;
	for (uint32_t i = kind->nr_given; i < kind->nr_given + kind->nr_kept; i++) {
		near.number = (uint32_t)distances[i];
		add_kept(memo, state, lap->first_allocation + near.number, near);
	}
	for (size_t i = 0; i < memo->touched.len; i++) {
		far.number = memo->touched.items[i];
		add_kept(memo, state, far.number, far);
	}
	known->nr_kept = (uint32_t)memo->blocks.len - known->first_block - known->nr_given;
}

/*
 * Behind a lap that was played.  One that changed segments is never asked for again: their number
 * is in the key.
 */
static void learn(struct vt_memo *memo, const struct vt_replay_state *state)
{
	struct vt_memo_lap known;

	memo->is_learning = 0;
	count(&known, state);
	subtract(&known, &memo->before);
	add_blocks(memo, lap_at(memo) - 1, state, &known);
	vt_map_put(&memo->known, memo->key, memo->laps.len);
	vt_vector_push(&memo->laps, known);
}

/* Pieces that only the holdings know are in no pool. */
static void give(struct vt_memo *memo, struct vt_replay_state *state, uint32_t allocation)
{
	struct vt_piece *piece = vt_holdings_remove(&state->holdings, allocation);

	if (piece && piece->pool)
		vt_vector_push(&memo->gone, piece);
	else if (piece)
		vt_pools_piece_free(&state->pools, piece);
}

static void take(struct vt_replay_state *state, uint32_t allocation,
		 const struct vt_memo_block *block)
{
	vt_holdings_add(
		&state->holdings, allocation,
		vt_pools_piece_new(&state->pools, NULL, 0, block->address, block->size_bytes));
}

static void apply(struct vt_memo *memo, const struct vt_lap *lap, struct vt_replay_state *state,
		  const struct vt_memo_lap *known)
{
	const struct vt_memo_block *blocks = &memo->blocks.items[known->first_block];
	struct vt_replay *replay = state->replay;

	for (uint32_t i = 0; i < known->nr_given + known->nr_kept; i++) {
		uint32_t first = blocks[i].is_near ? lap->first_allocation : 0;

		if (i < known->nr_given)
			give(memo, state, first + blocks[i].number);
		else
			take(state, first + blocks[i].number, &blocks[i]);
	}
	memo->is_ahead = 1;
	state->occupied += known->occupied;
	state->card.used_bytes += known->used_bytes;
	replay->nr_blocks += known->nr_blocks;
	replay->nr_blocks_elsewhere += known->nr_blocks_elsewhere;
	replay->nr_changes_other += known->nr_changes_other;
	replay->nr_reserved_other += known->nr_reserved_other;
}

/* Puts a block where the pools have its place free.  Returns 0, or -1: they do not. */
static int place(struct vt_replay_state *state, struct vt_holding *held)
{
	struct vt_piece *piece = held->piece;
	struct vt_piece *placed =
		vt_pools_take_at(&state->pools, piece->address, piece->size_bytes);

	if (placed) {
		held->piece = placed;
	} else {
		state->occupied -= vt_replay_place(piece);
		vt_holdings_remove(&state->holdings, held->allocation);
	}
	vt_pools_piece_free(&state->pools, piece);
	return placed ? 0 : -1;
}

/*
 * The pools follow, before a lap is played.  Where the same state was played there was room for
 * each block, but for segments of a damaged recording that lie over each other.
 */
static void catch_up(struct vt_memo *memo, struct vt_replay_state *state)
{
	struct vt_holdings *holdings = &state->holdings;
	uint32_t at = 0;

	memo->is_ahead = 0;
	for (size_t i = 0; i < memo->gone.len; i++)
		vt_allocator_give(&state->pools, memo->gone.items[i]);
	memo->gone.len = 0;
	while (at < holdings->capacity) {
		struct vt_holding *held = &holdings->places[at];

		if (!held->piece || held->piece->pool || place(state, held) == 0)
			at++;
		else
			at = 0; /* removing moved others */
	}
}

size_t vt_memo_at(struct vt_memo *memo, struct vt_replay_state *state)
{
	size_t first = lap_at(memo)->first_step, next_more;

	if (memo->is_learning)
		learn(memo, state);
	for (; memo->lap < nr_laps(memo); memo->lap++) {
		const struct vt_lap *lap = lap_at(memo);
		const uint64_t *known;

		if (!can_be_known(memo, lap))
			break;
		memo->key = key_of(memo, lap, state, &next_more);
		known = vt_map_find(&memo->known, memo->key);
		if (!known) {
			count(&memo->before, state);
			memo->is_learning = 1;
			break;
		}
		apply(memo, lap, state, &memo->laps.items[*known]);
		state->next_more = next_more;
	}
	first = lap_at(memo)->first_step - first;
	if (memo->is_ahead && memo->lap < nr_laps(memo))
		catch_up(memo, state);
	go_to(memo, memo->lap + 1);
	return first;
}
