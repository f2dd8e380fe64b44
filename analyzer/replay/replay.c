/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/replay/allocator.h"
#include "analyzer/replay/memo.h"

struct player {
	struct vt_replay *replay;
	const struct vt_trace *trace;
	const struct vt_replay_options *options;
	struct vt_replay_state now;
	struct vt_memo memo;
	size_t next_change; /* of the recording, not yet compared */
	size_t next_changed;
	VT_VECTOR(struct vt_trace_change) made; /* since the last comparison */
	VT_VECTOR(struct vt_trace_change) recorded;
};

void vt_replay_options_init(struct vt_replay_options *options, const struct vt_trace *trace)
{
	memset(options, 0, sizeof(*options));
	options->settings = trace->settings;
	options->capacity_bytes = trace->capacity_bytes;
	options->device_bytes = trace->device_bytes;
	options->emptied_step = SIZE_MAX;
}

int vt_replay_is_exact(const struct vt_replay *replay)
{
	return !replay->first_difference;
}

static void differ(struct player *player, uint32_t *counter, int64_t event)
{
	++*counter;
	if (!player->replay->first_difference)
		player->replay->first_difference = event;
}

static void note_change(void *context, enum vt_segment_op op, uint64_t address, uint64_t size_bytes)
{
	struct player *player = context;
	struct vt_trace_change change = { .address = address,
					 .bytes = size_bytes,
					 .op = (uint8_t)op };

	player->now.nr_changes++;
	if (player->options->is_compared)
		vt_vector_push(&player->made, change);
	if (op == VT_SEGMENT_TAKE && size_bytes > player->replay->largest_segment_bytes)
		player->replay->largest_segment_bytes = size_bytes;
}

/* The driver gives again what it gave before this step. */
static void expect_changes(struct player *player, int64_t event)
{
	const struct vt_trace *trace = player->trace;

	if (!player->options->is_compared)
		return;
	vt_card_forget_expected(&player->now.card);
	for (size_t i = player->next_change;
	     i < trace->changes.len && trace->changes.items[i].event < event; i++) {
		const struct vt_trace_change *change = &trace->changes.items[i];
		const struct vt_trace_segment *segment = &trace->segments.items[change->segment];

		if (change->op == VT_SEGMENT_TAKE || change->op == VT_SEGMENT_MAP)
			vt_card_expect(&player->now.card, segment->address, segment->size_bytes);
	}
}

static int compare_two(const void *a, const void *b)
{
	const struct vt_trace_change *x = a, *y = b;

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/*
 * The changes between two steps, in any order: that of segments of several streams given back at
 * once follows from the streams' handles, which are not recorded.
 */
static int are_same(struct vt_trace_change *made, size_t nr_made, struct vt_trace_change *recorded,
		    size_t nr_recorded)
{
	if (nr_made != nr_recorded)
		return 0;
	if (nr_made > 1) {
		vt_sort(made, nr_made, compare_two);
		vt_sort(recorded, nr_recorded, compare_two);
	}
	for (size_t i = 0; i < nr_made; i++)
		if (compare_two(&made[i], &recorded[i]))
			return 0;
	return 1;
}

static void compare_changes(struct player *player, int64_t event)
{
	const struct vt_trace *trace = player->trace;
	struct vt_replay *replay = player->replay;

	player->recorded.len = 0;
	for (; player->next_change < trace->changes.len &&
	       trace->changes.items[player->next_change].event < event;
	     player->next_change++) {
		struct vt_trace_change change = trace->changes.items[player->next_change];
		int is_more = change.op == VT_SEGMENT_TAKE || change.op == VT_SEGMENT_MAP;

		vt_vector_push(&player->recorded, change);
		player->now.recorded_reserved_bytes += is_more ? change.bytes : 0 - change.bytes;
	}
	replay->nr_changes += (uint32_t)player->recorded.len;
	if (!are_same(player->made.items, player->made.len, player->recorded.items,
		      player->recorded.len))
		differ(player, &replay->nr_changes_other, event);
	player->made.len = 0;
	if (player->now.recorded_reserved_bytes != player->now.pools.reserved_bytes)
		differ(player, &replay->nr_reserved_other, event);
}

static void note_peaks(struct player *player, int64_t event)
{
	struct vt_replay *replay = player->replay;

	if (player->now.pools.reserved_bytes > replay->peak_reserved_bytes) {
		replay->peak_reserved_bytes = player->now.pools.reserved_bytes;
		replay->peak_reserved_event = event;
	}
	if (player->now.pools.allocated_bytes > replay->peak_allocated_bytes)
		replay->peak_allocated_bytes = player->now.pools.allocated_bytes;
	if (player->now.card.used_bytes > replay->peak_used_bytes)
		replay->peak_used_bytes = player->now.card.used_bytes;
}

/* NULL: a step of the trace. */
static const struct vt_replay_more *more_of(const struct player *player,
					    const struct vt_trace_step *step)
{
	const struct vt_replay_options *options = player->options;
	const struct vt_replay_more *more = (const struct vt_replay_more *)(const void *)step;

	return more >= options->more && more < options->more + options->nr_more ? more : NULL;
}

static int64_t event_of(const struct player *player, const struct vt_trace_step *step)
{
	const struct vt_replay_more *more = more_of(player, step);

	return more ? more->event : vt_trace_event(player->trace, step);
}

/* Requests come in order of their allocations. */
static uint64_t changed_request_of(struct player *player, const struct vt_trace_step *step)
{
	const struct vt_replay_options *options = player->options;

	while (player->next_changed < options->nr_changed &&
	       options->changed[player->next_changed].allocation < step->allocation)
		player->next_changed++;
	if (player->next_changed < options->nr_changed &&
	    options->changed[player->next_changed].allocation == step->allocation)
		return options->changed[player->next_changed].bytes;
	return vt_trace_request(player->trace, step->allocation);
}

static uint64_t request_of(struct player *player, const struct vt_trace_step *step)
{
	const struct vt_replay_more *more = more_of(player, step);

	if (more)
		return more->bytes;
	if (player->options->request_of)
		return player->options->request_of(player->options->request_context, step);
	return changed_request_of(player, step);
}

static uint64_t failed_request_of(const struct player *player, const struct vt_trace_step *step)
{
	const struct vt_replay_options *options = player->options;

	return options->request_of ? options->request_of(options->request_context, step)
				   : vt_trace_bytes(player->trace, step);
}

/* While a graph needs a private pool, none of it goes back. */
static void keep_pool(struct player *player, uint32_t pool, int is_kept)
{
	for (int is_small = 0; pool && is_small < 2; is_small++)
		vt_pools_half(&player->now.pools, pool, is_small)->is_kept = (uint8_t)is_kept;
}

static struct vt_piece *take_piece(struct player *player, const struct vt_trace_step *step,
				   uint64_t bytes)
{
	static const struct vt_trace_segment nowhere;
	uint32_t number = vt_trace_segment(player->trace, step);
	const struct vt_trace_segment *segment =
		number == VT_NO_INDEX ? &nowhere : &player->trace->segments.items[number];

	keep_pool(player, segment->pool, event_of(player, step) < segment->kept_until);
	return vt_allocator_take(&player->now.pools, bytes, segment->stream, segment->pool);
}

static void fail(struct player *player, const struct vt_trace_step *step, uint64_t bytes)
{
	player->replay->failure = (struct vt_replay_failure){
		.event = event_of(player, step),
		.request_bytes = bytes,
		.reserved_bytes = player->now.pools.reserved_bytes,
		.allocated_bytes = player->now.pools.allocated_bytes,
	};
}

static void take(struct player *player, const struct vt_trace_step *step)
{
	const struct vt_allocation *block = &player->trace->model->allocations[step->allocation];
	uint64_t bytes = request_of(player, step);
	struct vt_piece *piece;

	if (!bytes)
		return;
	expect_changes(player, event_of(player, step));
	piece = take_piece(player, step, bytes);
	if (!piece) {
		fail(player, step, bytes);
		return;
	}
	vt_holdings_add(&player->now.holdings, step->allocation, piece);
	player->now.occupied += vt_replay_place(piece);
	note_peaks(player, event_of(player, step));
	if (!player->options->is_compared)
		return;
	player->replay->nr_blocks++;
	if (piece->address != block->address || piece->size_bytes != block->common->size_bytes)
		differ(player, &player->replay->nr_blocks_elsewhere, event_of(player, step));
}

static void give(struct player *player, const struct vt_trace_step *step)
{
	struct vt_piece *piece = vt_holdings_remove(&player->now.holdings, step->allocation);

	if (!piece)
		return;
	player->now.occupied -= vt_replay_place(piece);
	vt_allocator_give(&player->now.pools, piece);
}

/* A request that failed is given back at once: nobody knows for how long it was meant. */
static void retry_failed(struct player *player, const struct vt_trace_step *step)
{
	struct vt_piece *piece;

	expect_changes(player, event_of(player, step));
	piece = take_piece(player, step, failed_request_of(player, step));
	if (!piece)
		return;
	note_peaks(player, event_of(player, step));
	player->replay->nr_rescued++;
	player->replay->rescued_event = event_of(player, step);
	vt_allocator_give(&player->now.pools, piece);
}

/* Others take what they took; where the replay leaves them too little, that is a failure. */
static void take_other(struct player *player, const struct vt_trace_step *step)
{
	uint64_t bytes = vt_trace_bytes(player->trace, step);

	if (vt_card_charge(&player->now.card, bytes))
		fail(player, step, bytes);
	note_peaks(player, event_of(player, step));
}

static void make(struct player *player, const struct vt_trace_step *step)
{
	switch (step->op) {
	case VT_TRACE_TAKE:
		take(player, step);
		break;
	case VT_TRACE_GIVE:
		give(player, step);
		break;
	case VT_TRACE_EMPTY_CACHE:
		vt_allocator_empty_cache(&player->now.pools);
		break;
	case VT_TRACE_FAILED:
		retry_failed(player, step);
		break;
	case VT_TRACE_POOL_GONE:
		keep_pool(player, step->allocation, 0);
		break;
	case VT_TRACE_OTHER_TAKE:
		take_other(player, step);
		break;
	default:
		vt_card_discharge(&player->now.card, vt_trace_bytes(player->trace, step));
		break;
	}
}

static int is_comparable(const struct vt_trace_step *step)
{
	return step->op == VT_TRACE_TAKE || step->op == VT_TRACE_GIVE ||
	       step->op == VT_TRACE_FAILED;
}

static void sum_up(const struct player *player, struct vt_replay *replay)
{
	*replay = *player->replay;
	replay->end_reserved_bytes = player->now.pools.reserved_bytes;
	replay->nr_retries = player->now.pools.nr_retries;
}

static int is_left_out(struct player *player, const struct vt_trace_step *step)
{
	if (step->op == VT_TRACE_FAILED)
		return player->options->is_without_failed;
	return step->op == VT_TRACE_TAKE && !request_of(player, step);
}

/* What the trace does not have, up to a step of it. */
static void make_more(struct player *player, const struct vt_trace_step *step)
{
	const struct vt_replay_options *options = player->options;
	int64_t event;

	if (player->now.next_more == options->nr_more)
		return;
	event = vt_trace_event(player->trace, step);
	for (; player->now.next_more < options->nr_more && !player->replay->failure.event &&
	       vt_replay_more_is_before(&options->more[player->now.next_more], step, event);
	     player->now.next_more++)
		make(player, &options->more[player->now.next_more].step);
}

static void play(struct player *player)
{
	const struct vt_trace *trace = player->trace;

	for (size_t i = 0; i < trace->steps.len; i++) {
		const struct vt_trace_step *step;

		if (i == player->memo.boundary)
			i += vt_memo_at(&player->memo, &player->now);
		if (i == trace->steps.len)
			break;
		step = &trace->steps.items[i];
		if (is_left_out(player, step))
			continue;
		make_more(player, step);
		if (player->replay->failure.event)
			break;
		if (i == player->options->emptied_step)
			vt_allocator_empty_cache(&player->now.pools);
		make(player, step);
		player->replay->nr_played++;
		if (player->options->is_compared && is_comparable(step))
			compare_changes(player, event_of(player, step));
		if (player->options->noted && i == player->options->noted_step)
			sum_up(player, player->options->noted);
	}
	if (player->options->is_compared && !player->replay->failure.event)
		compare_changes(player, VT_NEVER);
}

void vt_replay_run(struct vt_replay *replay, const struct vt_trace *trace,
		   const struct vt_replay_options *options)
{
	struct player player = { .replay = replay, .trace = trace, .options = options };

	memset(replay, 0, sizeof(*replay));
	vt_card_init(&player.now.card, options->capacity_bytes);
	vt_pools_init(&player.now.pools, &options->settings, &player.now.card,
		      options->device_bytes);
	player.now.pools.note = note_change;
	player.now.pools.context = &player;
	player.now.replay = replay;
	vt_memo_init(&player.memo, trace, options);
	play(&player);
	if (options->is_compared && replay->failure.event)
		differ(&player, &replay->nr_blocks_elsewhere, replay->failure.event);
	sum_up(&player, replay);
	vt_vector_release(&player.made);
	vt_vector_release(&player.recorded);
	vt_pools_release(&player.now.pools);
	vt_card_release(&player.now.card);
	vt_holdings_release(&player.now.holdings);
	vt_memo_release(&player.memo);
}
