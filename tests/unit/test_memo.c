/* SPDX-License-Identifier: MIT */
/* What a replay comes to that leaves out laps it knows is what it comes to that plays them all. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/replay/allocator.h"
#include "analyzer/replay/laps.h"
#include "analyzer/replay/layout.h"
#include "analyzer/replay/replay.h"

#define MIB     VT_MIB
#define LAPS    4000
#define LAYERS  30
#define KINDS   3
#define PHANTOM 40

static struct {
	struct vt_model model;
	VT_VECTOR(struct vt_allocation) allocations;
	VT_VECTOR(struct vt_allocation_common *) commons;
	VT_VECTOR(uint32_t) segments; /* by allocation */
	struct vt_trace trace;
	struct vt_trace whole; /* without laps */
	int64_t event;
	/* The program that is recorded. */
	struct vt_pools pools;
	struct vt_card card;
	uint64_t seed;
} g;

struct block {
	struct vt_piece *piece;
	uint32_t number;
};

static void record_segment(void *context, enum vt_segment_op op, uint64_t address,
			   uint64_t size_bytes)
{
	struct vt_trace_change change = { ++g.event, address, size_bytes,
					  (uint32_t)g.trace.segments.len, (uint8_t)op };
	struct vt_trace_segment segment = { .address = address,
					    .size_bytes = size_bytes,
					    .taken_event = g.event,
					    .given_event = VT_NEVER };

	(void)context;
	segment.is_small = size_bytes == 2 * MIB;
	if (op == VT_SEGMENT_GIVE_BACK)
		change.segment--;
	else
		vt_vector_push(&g.trace.segments, segment);
	vt_vector_push(&g.trace.changes, change);
}

static uint32_t segment_of(uint64_t address)
{
	uint32_t at = 0;

	while (address - g.trace.segments.items[at].address >=
	       g.trace.segments.items[at].size_bytes)
		at++;
	return at;
}

static void add_step(uint32_t number, enum vt_trace_op op)
{
	struct vt_trace_step step = { .allocation = number & 0x1fffffff, .op = op };

	vt_vector_push(&g.trace.steps, step);
}

static struct block take(uint64_t bytes)
{
	struct block block = { .piece = vt_allocator_take(&g.pools, bytes, 0, 0),
			       .number = (uint32_t)g.allocations.len };
	struct vt_allocation_common *common = vt_xcalloc(1, sizeof(*common));
	struct vt_allocation a = { .address = block.piece->address,
				   .event = (uint32_t)++g.event,
				   .freed_event = (uint32_t)VT_NEVER,
				   .common = common };

	common->kind = VT_KIND_BLOCK;
	common->size_bytes = block.piece->size_bytes;
	common->requested_bytes = bytes;
	vt_vector_push(&g.commons, common);
	vt_vector_push(&g.allocations, a);
	vt_vector_push(&g.segments, segment_of(a.address));
	add_step(block.number, VT_TRACE_TAKE);
	return block;
}

static void give(struct block block)
{
	g.allocations.items[block.number].freed_event = (uint32_t)++g.event;
	add_step(block.number, VT_TRACE_GIVE);
	vt_allocator_give(&g.pools, block.piece);
}

static uint64_t below(uint64_t nr)
{
	g.seed = g.seed * 6364136223846793005ull + 1442695040888963407ull;
	return (g.seed >> 33) % nr;
}

/* Of one size, in any order, so that either may be where the other was. */
static void take_two(struct block blocks[2], uint64_t bytes)
{
	uint64_t first = below(10) == 0;

	blocks[first] = take(bytes);
	blocks[!first] = take(bytes);
}

/* What is used up in a lap, forward and backward. */
static void pass(uint64_t length)
{
	struct block activations[LAYERS], gradient;

	for (int layer = 0; layer < LAYERS; layer++) {
		struct block part = take(length * 700 * VT_KIB);

		activations[layer] = take(length * (300 + 10 * layer) * VT_KIB);
		give(part);
	}
	g.event += below(30) == 0; /* something else happens */
	gradient = take(length * 100 * VT_KIB);
	for (int layer = LAYERS; layer-- > 0;) {
		give(gradient);
		gradient = take(length * (400 + 20 * layer) * VT_KIB);
		give(activations[layer]);
	}
	give(gradient);
}

/* Memory of others: two at a time, of two sizes in any order. */
static void take_other(uint64_t bytes)
{
	struct vt_allocation_common *common = vt_xcalloc(1, sizeof(*common));
	struct vt_allocation a = { .event = (uint32_t)++g.event,
				   .freed_event = (uint32_t)VT_NEVER,
				   .common = common };

	common->kind = VT_KIND_SEGMENT;
	common->size_bytes = bytes;
	vt_vector_push(&g.commons, common);
	add_step((uint32_t)g.allocations.len, VT_TRACE_OTHER_TAKE);
	vt_vector_push(&g.allocations, a);
	vt_vector_push(&g.segments, 0);
}

static void change_others(uint32_t others[2])
{
	uint32_t oldest = others[0];

	others[0] = others[1];
	others[1] = (uint32_t)g.allocations.len;
	take_other((10 + 90 * below(2)) * MIB);
	g.allocations.items[oldest].freed_event = (uint32_t)++g.event;
	add_step(oldest, VT_TRACE_OTHER_GIVE);
}

/*
 * Batches of several lengths, each of which is let go when the next one is there.  Now and then a
 * block that stays is another one, so that laps of one kind find free memory elsewhere, or a
 * segment comes and goes that no replay takes.
 */
static void train(void)
{
	struct block batch[2], table;
	uint32_t others[2] = { 0, 1 };

	take_other(10 * MIB);
	take_other(100 * MIB);
	table = take(5 * MIB);
	take_two(batch, 4096);
	for (int layer = 0; layer < LAYERS; layer++)
		take(2 * MIB);
	for (int lap = 0; lap < LAPS; lap++) {
		uint64_t length = 1 + below(KINDS);
		struct block old[2] = { batch[0], batch[1] };

		if (below(100) == 0) {
			give(table);
			table = take((1 + below(2)) * 5 * MIB);
		}
		if (lap > LAPS / 2 && lap % 4 == 0)
			change_others(others);
		take_two(batch, length * 8192);
		give(old[0]);
		if (lap % PHANTOM == 0)
			record_segment(NULL, VT_SEGMENT_TAKE, UINT64_C(1) << 40, 20 * MIB);
		pass(length);
		if (lap % PHANTOM == 0)
			record_segment(NULL, VT_SEGMENT_GIVE_BACK, UINT64_C(1) << 40, 20 * MIB);
		give(old[1]);
	}
}

static int record(void **state)
{
	(void)state;
	vt_settings_init(&g.trace.settings, NULL);
	g.trace.capacity_bytes = g.trace.device_bytes = 40000 * MIB;
	vt_card_init(&g.card, 40000 * MIB);
	vt_pools_init(&g.pools, &g.trace.settings, &g.card, 40000 * MIB);
	g.pools.note = record_segment;
	train();
	vt_pools_release(&g.pools);
	vt_card_release(&g.card);
	g.model.allocations = g.allocations.items;
	g.model.nr_allocations = (uint32_t)g.allocations.len;
	g.trace.model = &g.model;
	vt_narrow_init(&g.trace.block_segments, g.segments.len);
	for (size_t i = 0; i < g.segments.len; i++)
		vt_narrow_set(&g.trace.block_segments, i, g.segments.items[i] + 1);
	vt_vector_release(&g.segments);
	vt_laps_find(&g.trace);
	g.whole = g.trace;
	g.whole.laps.items.len = 0;
	return 0;
}

static int forget(void **state)
{
	(void)state;
	vt_trace_release(&g.trace);
	for (size_t i = 0; i < g.commons.len; i++)
		free(g.commons.items[i]);
	vt_vector_release(&g.commons);
	vt_vector_release(&g.allocations);
	return 0;
}

/* Plays with and without; returns what part of the steps was played, in percent. */
static unsigned compare_one(struct vt_replay_options options)
{
	const struct vt_trace *trace = &g.trace;
	struct vt_replay left_out, played, noted = { 0 }, noted_whole = { 0 };
	uint32_t nr_played;

	if (options.noted)
		options.noted = &noted;
	vt_replay_run(&left_out, trace, &options);
	if (options.noted)
		options.noted = &noted_whole;
	vt_replay_run(&played, &g.whole, &options);
	nr_played = left_out.nr_played;
	left_out.nr_played = played.nr_played;
	assert_memory_equal(&left_out, &played, sizeof(played));
	noted.nr_played = noted_whole.nr_played;
	assert_memory_equal(&noted, &noted_whole, sizeof(noted));
	assert_true(played.peak_allocated_bytes > 20 * MIB);
	return (unsigned)(100 * (uint64_t)nr_played / trace->steps.len);
}

/*
 * Peaks say little of what is where: so does how much of a cache can be emptied at the end, and
 * whether each block is where it was.
 */
static unsigned compare(struct vt_replay_options options)
{
	size_t nr = g.trace.steps.len;
	unsigned percent = compare_one(options);

	for (size_t back = 1; back < 2000 && options.emptied_step == SIZE_MAX; back += 399) {
		struct vt_replay_options emptying = options;

		emptying.emptied_step = nr - back;
		compare_one(emptying);
	}
	options.is_compared = 1;
	compare_one(options);
	return percent;
}

static struct vt_replay_options recorded_options(void)
{
	struct vt_replay_options options;

	vt_replay_options_init(&options, &g.trace);
	return options;
}

static void laps_are_found(void **state)
{
	const struct vt_laps *laps = &g.trace.laps;
	uint32_t most = 0;

	(void)state;
	for (size_t i = 0; i < laps->kinds.len; i++)
		if (laps->kinds.items[i].nr_laps > most)
			most = laps->kinds.items[i].nr_laps;
	/* The steps before and behind the first and last stretches are cut more seldom. */
	assert_in_range(laps->items.len, LAPS * 2 / 3, LAPS + 10);
	assert_in_range(most, LAPS / KINDS / KINDS / 2, LAPS);
}

static void the_recorded_settings(void **state)
{
	struct vt_replay_options options = recorded_options();
	struct vt_replay replay;

	(void)state;
	assert_true(compare(options) < 70);
	options.is_compared = 1;
	vt_replay_run(&replay, &g.trace, &options);
	assert_int_equal(replay.nr_blocks_elsewhere, 0);
	assert_int_equal(replay.nr_changes_other, 2 * LAPS / PHANTOM);
	assert_int_equal(replay.nr_changes, g.trace.changes.len);
}

static void other_settings(void **state)
{
	static const char *const texts[] = { "expandable_segments:True", "max_split_size_mb:32",
					     "roundup_power2_divisions:4" };

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(texts); i++) {
		struct vt_replay_options options = recorded_options();

		assert_int_equal(vt_settings_parse(&options.settings, texts[i], NULL), 0);
		/* Compared, each block is elsewhere: what is counted is counted for all laps. */
		options.is_compared = i == 0;
		assert_true(compare(options) < 70);
	}
}

static void ages_are_never_skipped(void **state)
{
	struct vt_replay_options options = recorded_options();

	(void)state;
	options.settings.gc_threshold = 0.5;
	options.settings.memory_fraction = 0.9;
	assert_int_equal(compare(options), 100);
}

static void a_step_that_is_special(void **state)
{
	struct vt_replay_options options = recorded_options();
	struct vt_replay noted;

	(void)state;
	options.emptied_step = g.trace.steps.len * 2 / 3;
	assert_true(compare(options) < 70);
	options.noted_step = options.emptied_step + 1000;
	options.noted = &noted;
	assert_true(compare(options) < 70);
	options.emptied_step = SIZE_MAX;
	options.noted_step = g.trace.steps.len * 9 / 10;
	assert_true(compare(options) < 70);
}

/* Some blocks are not there, or smaller, in stretches of many laps. */
static void changed_requests(void **state)
{
	const struct vt_trace *trace = &g.trace;
	struct vt_replay_options options = recorded_options();
	VT_VECTOR(struct vt_replay_request) changed = { 0 };

	(void)state;
	for (size_t i = 0; i < trace->steps.len; i++) {
		const struct vt_trace_step *step = &trace->steps.items[i];
		struct vt_replay_request request = { .allocation = step->allocation };
		uint64_t bytes = vt_trace_bytes(trace, step);

		if (step->op != VT_TRACE_TAKE || bytes < MIB)
			continue;
		request.bytes = bytes / (300 * VT_KIB) % 2 ? bytes / 2 : 0;
		if (bytes % (700 * VT_KIB) && step->allocation % 20000 < 10000)
			vt_vector_push(&changed, request);
	}
	options.changed = changed.items;
	options.nr_changed = changed.len;
	assert_true(changed.len > 2000);
	assert_true(compare(options) < 70);
	vt_vector_release(&changed);
}

/* A block of each lap is let go for some steps, and so is one that stays. */
static void steps_that_the_trace_does_not_have(void **state)
{
	const struct vt_trace *trace = &g.trace;
	const struct vt_laps *laps = &trace->laps;
	struct vt_replay_options options = recorded_options();
	VT_VECTOR(struct vt_replay_more) added = { 0 };

	(void)state;
	for (size_t i = 1; i + 2 < laps->items.len; i++) {
		uint32_t first = laps->items.items[i].first_step;
		const struct vt_trace_step *near = &trace->steps.items[first + 10];
		struct vt_replay_more more = { .step = { .op = VT_TRACE_GIVE } };
		uint32_t numbers[2] = { 0, 10 };

		while (near->op != VT_TRACE_TAKE || near[1].op != VT_TRACE_GIVE)
			near++; /* an activation */
		numbers[0] = near->allocation;
		for (int k = 0; k < 4; k++) {
			more.step.op = k < 2 ? VT_TRACE_GIVE : VT_TRACE_TAKE;
			more.step.allocation = numbers[k % 2] & 0x1fffffff;
			more.event = (uint32_t)vt_trace_event(trace, near) + (k < 2 ? 12 : 30);
			more.bytes = MIB + (unsigned)k * 64 * VT_KIB;
			vt_vector_push(&added, more);
		}
	}
	options.more = added.items;
	options.nr_more = added.len;
	assert_true(added.len > LAPS);
	assert_true(compare(options) < 70);
	vt_vector_release(&added);
}

static uint64_t halves(const void *context, const struct vt_trace_step *step)
{
	uint64_t bytes = vt_trace_bytes(context, step);

	return step->allocation % 6400 < 3200 ? bytes / 2 : bytes;
}

static void requests_that_the_caller_says(void **state)
{
	struct vt_replay_options options = recorded_options();

	(void)state;
	options.request_of = halves;
	options.request_context = &g.trace;
	assert_true(compare(options) < 80);
}

/* The pieces of a recording at a moment, by a way that passes laps and by one that does not. */
static void following(void **state)
{
	const struct vt_trace *trace = &g.trace;
	struct vt_follow passing, whole;

	(void)state;
	vt_follow_init(&passing, trace);
	vt_follow_init(&whole, &g.whole);
	for (size_t at = 1000; at < trace->steps.len; at += 7777) {
		int64_t event = vt_trace_event(trace, &trace->steps.items[at]);
		struct vt_layout x, y;

		vt_follow_to(&passing, event);
		vt_follow_to(&whole, event);
		vt_layout_init(&x, &passing, 0);
		vt_layout_init(&y, &whole, 0);
		assert_memory_equal(&x.totals, &y.totals, sizeof(x.totals));
		assert_int_equal(x.segments.len, y.segments.len);
		assert_memory_equal(x.segments.items, y.segments.items,
				    x.segments.len * sizeof(*x.segments.items));
		assert_int_equal(x.pins.len, y.pins.len);
		for (size_t i = 0; i < x.pins.len; i++) {
			assert_int_equal(x.pins.items[i].allocation, y.pins.items[i].allocation);
			assert_int_equal(x.pins.items[i].bytes, y.pins.items[i].bytes);
		}
		assert_int_equal(passing.pools.allocated_bytes, whole.pools.allocated_bytes);
		assert_int_equal(passing.next_step, whole.next_step);
		vt_layout_release(&x);
		vt_layout_release(&y);
	}
	vt_follow_release(&passing);
	vt_follow_release(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laps_are_found),
		cmocka_unit_test(the_recorded_settings),
		cmocka_unit_test(other_settings),
		cmocka_unit_test(ages_are_never_skipped),
		cmocka_unit_test(a_step_that_is_special),
		cmocka_unit_test(changed_requests),
		cmocka_unit_test(steps_that_the_trace_does_not_have),
		cmocka_unit_test(requests_that_the_caller_says),
		cmocka_unit_test(following),
	};

	return cmocka_run_group_tests_name("memo", tests, record, forget);
}
