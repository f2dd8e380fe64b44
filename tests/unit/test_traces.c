/* SPDX-License-Identifier: MIT */
/* The traces that several commands share: read once, and what playing them as they are comes to. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/oom_remedies.h"
#include "analyzer/replay/traces.h"
#include "tests/lib/database_builder.h"

#define MIB     VT_MIB
#define BASE    0x700000000000ull
#define AT(mib) (BASE + (mib) * MIB)

static struct vt_analysis g_analysis;

static int enter(void **state)
{
	memset(&g_analysis, 0, sizeof(g_analysis));
	return unit_enter(state);
}

static int leave(void **state)
{
	vt_analysis_close(&g_analysis);
	return unit_leave(state);
}

static struct builder_db *start(uint64_t total_mib)
{
	struct builder_db *b = build_open("run.db");

	build_device(b, 0, total_mib * MIB, 0);
	return b;
}

static struct vt_trace_ready *open_trace(void)
{
	struct vt_diag diag = { 0 };
	struct vt_trace_ready *ready;

	if (vt_analysis_open_model(&g_analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	ready = vt_traces_get(&g_analysis.traces, 0, &diag);
	if (!ready)
		fail_msg("%s", diag.text);
	return ready;
}

/* What a replay comes to that is not shared with anybody. */
static struct vt_replay play(const struct vt_trace *trace)
{
	struct vt_replay_options options;
	struct vt_replay replay;

	vt_replay_options_init(&options, trace);
	options.is_compared = 1;
	vt_replay_run(&replay, trace, &options);
	return replay;
}

static void a_trace_is_read_once_and_the_same_for_all(void **state)
{
	struct builder_db *b = start(1000);
	struct vt_trace_ready *ready;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_close(b);

	ready = open_trace();
	assert_ptr_equal(vt_traces_get(&g_analysis.traces, 0, NULL), ready);
	assert_int_equal(g_analysis.traces.items.len, 1);
	assert_int_equal(ready->nr_streams, 1);
	assert_ptr_equal(vt_traces_recorded(ready), &ready->recorded);
}

static void streams_are_told_apart_where_the_recorded_ones_explain_too_little(void **state)
{
	struct builder_db *b = start(1000);
	struct vt_trace_ready *ready;
	int64_t other;

	(void)state;
	build_segment_at(b, AT(0), 12 * MIB);
	other = build_block_at(b, AT(0), 12 * MIB);
	build_free(b, other, NULL);
	build_segment_at(b, AT(20), 12 * MIB);
	build_block_at(b, AT(20), 12 * MIB);
	build_close(b);

	ready = open_trace();
	assert_int_equal(ready->nr_streams, 2);
	assert_true(vt_replay_is_exact(vt_traces_recorded(ready)));
}

/* Of 20 MiB, which is what grows at a time, with a block in it. */
static void build_expandable(struct builder_db *b, uint64_t at_mib)
{
	int64_t handle = build_alloc(b, &(struct build_event){ .kind = VT_KIND_VMM,
							       .size = 20 * MIB });

	build_map(b, handle, AT(at_mib), 60 * MIB, VT_OP_RESERVE);
	build_map(b, handle, AT(at_mib), 20 * MIB, VT_OP_MAP);
	build_block_at(b, AT(at_mib), 16 * MIB);
}

/*
 * One stream has one such segment for large blocks, so two are two streams'.  That needs no replay:
 * it is played when it is asked for.
 */
static void streams_of_expandable_segments_are_found_without_playing(void **state)
{
	struct builder_db *b = start(40);
	struct vt_trace_ready *ready;

	build_expandable(b, 0);
	build_close(b);
	ready = open_trace();
	assert_int_equal(ready->trace.settings.is_expandable, 1);
	assert_int_equal(ready->nr_streams, 1);
	assert_false(ready->has_recorded);
	assert_true(vt_replay_is_exact(vt_traces_recorded(ready)));
	leave(state);
	enter(state);

	b = start(1000);
	build_expandable(b, 0);
	build_expandable(b, 200);
	build_close(b);
	ready = open_trace();
	assert_int_equal(ready->nr_streams, 2);
	assert_false(ready->has_recorded);
}

static void a_device_without_blocks_says_so_each_time(void **state)
{
	struct builder_db *b = start(1000);
	struct vt_diag diag = { 0 };

	(void)state;
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT, .size = MIB });
	build_close(b);
	assert_int_equal(vt_analysis_open_model(&g_analysis, "run.db", NULL, &diag), 0);
	for (int i = 0; i < 2; i++) {
		diag.text[0] = 0;
		assert_null(vt_traces_get(&g_analysis.traces, 0, &diag));
		assert_non_null(strstr(diag.text, "there is nothing to replay"));
		assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
	}
}

static void settings_that_cannot_be_read_leave_no_trace(void **state)
{
	struct builder_db *b = start(1000);
	struct vt_diag diag = { 0 };

	(void)state;
	build_run(b, "env:PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:many");
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_close(b);
	assert_int_equal(vt_analysis_open_model(&g_analysis, "run.db", NULL, &diag), 0);
	assert_null(vt_traces_get(&g_analysis.traces, 0, &diag));
	assert_non_null(strstr(diag.text, "max_split_size_mb"));
}

/* What follows the failed request is of the whole, and not of the part. */
static void the_part_up_to_a_failed_request_is_what_replaying_it_alone_comes_to(void **state)
{
	static const struct build_event failed = { .size = 60 * MIB, .python = BUILD_MAIN };
	struct builder_db *b = start(100);
	const struct vt_replay *whole, *part;
	struct vt_trace_ready *ready;
	struct vt_replay alone;
	struct vt_trace cut;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_segment_at(b, AT(20), 30 * MIB);
	build_block_at(b, AT(20), 30 * MIB);
	build_oom(b, &failed);
	build_segment_at(b, AT(60), 40 * MIB);
	build_block_at(b, AT(60), 40 * MIB);
	build_close(b);

	ready = open_trace();
	whole = vt_traces_recorded(ready);
	part = &ready->until_failed;
	assert_int_equal(vt_oom_remedies_cut(&cut, &ready->trace, 0), 0);
	alone = play(&cut);
	assert_true(vt_replay_is_exact(whole) && vt_replay_is_exact(part));
	assert_int_equal(whole->peak_reserved_bytes, 90 * MIB);
	assert_int_equal(part->peak_reserved_bytes, 50 * MIB);
	assert_int_equal(part->end_reserved_bytes, alone.end_reserved_bytes);
	assert_int_equal(part->nr_blocks, alone.nr_blocks);
	assert_int_equal(part->nr_changes, alone.nr_changes);
	assert_int_equal(part->nr_retries, alone.nr_retries);
	assert_int_equal(part->largest_segment_bytes, alone.largest_segment_bytes);
}

static void its_part_with_expandable_segments_is_the_same_too(void **state)
{
	static const struct build_event failed = { .size = 60 * MIB, .python = BUILD_MAIN };
	struct builder_db *b = start(100);
	struct vt_replay_options options;
	const struct vt_replay *part;
	struct vt_trace_ready *ready;
	struct vt_replay alone;
	struct vt_trace cut;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_oom(b, &failed);
	build_segment_at(b, AT(60), 40 * MIB);
	build_block_at(b, AT(60), 40 * MIB);
	build_close(b);

	ready = open_trace();
	part = &ready->expandable_until_failed;
	assert_int_equal(vt_oom_remedies_cut(&cut, &ready->trace, 0), 0);
	vt_replay_options_init(&options, &cut);
	options.settings.is_expandable = 1;
	vt_replay_run(&alone, &cut, &options);
	assert_true(vt_traces_expandable(ready)->peak_reserved_bytes > alone.peak_reserved_bytes);
	assert_int_equal(part->peak_reserved_bytes, alone.peak_reserved_bytes);
	assert_int_equal(part->rescued_event, alone.rescued_event);
	assert_int_equal(part->failure.event, alone.failure.event);
}

/* Those that are not named ask for what was recorded; 0 leaves a block out. */
static void few_requests_can_be_others_than_recorded(void **state)
{
	static const struct vt_replay_request changed[] = { { 1, 1 * MIB }, { 2, 0 } };
	struct builder_db *b = start(100);
	struct vt_replay_options options;
	struct vt_trace_ready *ready;
	struct vt_replay replay;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB); /* block 0 is the segment */
	build_block_at(b, AT(0), 3 * MIB);
	build_block_at(b, AT(3), 4 * MIB);
	build_block_at(b, AT(7), 5 * MIB);
	build_close(b);

	ready = open_trace();
	vt_replay_options_init(&options, &ready->trace);
	options.changed = changed;
	options.nr_changed = VT_ARRAY_SIZE(changed);
	vt_replay_run(&replay, &ready->trace, &options);
	assert_int_equal(replay.peak_allocated_bytes, (1 + 5) * MIB);
}

/* A replay that ends before the failed request has no such part: it ends where the whole ends. */
static void a_replay_that_ends_early_is_its_own_part(void **state)
{
	static const struct build_event failed = { .size = 60 * MIB, .python = BUILD_MAIN };
	struct builder_db *b = start(100);
	struct vt_trace_ready *ready;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_block_at(b, AT(10), 3 * MIB);
	build_oom(b, &failed);
	build_close(b);

	ready = open_trace();
	ready->trace.capacity_bytes = 10 * MIB;
	ready->has_recorded = 0;
	assert_true(vt_traces_recorded(ready)->failure.event > 0);
	assert_int_equal(ready->until_failed.failure.event, ready->recorded.failure.event);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_trace_is_read_once_and_the_same_for_all),
		TEST(streams_are_told_apart_where_the_recorded_ones_explain_too_little),
		TEST(streams_of_expandable_segments_are_found_without_playing),
		TEST(a_device_without_blocks_says_so_each_time),
		TEST(settings_that_cannot_be_read_leave_no_trace),
		TEST(the_part_up_to_a_failed_request_is_what_replaying_it_alone_comes_to),
		TEST(its_part_with_expandable_segments_is_the_same_too),
		TEST(few_requests_can_be_others_than_recorded),
		TEST(a_replay_that_ends_early_is_its_own_part),
	};

	return cmocka_run_group_tests_name("traces", tests, NULL, NULL);
}
