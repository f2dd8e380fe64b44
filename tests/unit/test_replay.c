/* SPDX-License-Identifier: MIT */
/* Recordings made by hand, read as traces: what they do not say, and what a replay comes to. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/units.h"
#include "analyzer/replay/layout.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/requests.h"
#include "analyzer/replay/streams.h"
#include "tests/lib/database_builder.h"

#define MIB     VT_MIB
#define BASE    0x700000000000ull
#define AT(mib) (BASE + (mib) * MIB)

#define EMPTY_CACHE "/usr/lib/python3/dist-packages/torch/cuda/memory.py:1 empty_cache"

static struct {
	struct vt_analysis analysis;
	struct vt_trace trace;
	struct vt_requests requests;
	uint32_t nr_streams;
	struct vt_replay replay;
} g;

static void open_recording(void)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(&g.analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
}

static int init_trace(struct vt_diag *diag)
{
	struct vt_settings settings;

	open_recording();
	if (vt_trace_settings(&settings, g.analysis.db, diag))
		fail_msg("%s", diag->text);
	return vt_trace_init(&g.trace, &g.analysis.timeline, 0, &settings, diag);
}

static void open_trace(void)
{
	struct vt_diag diag = { 0 };

	if (init_trace(&diag))
		fail_msg("%s", diag.text);
	vt_requests_find(&g.requests, &g.trace);
	g.nr_streams = vt_streams_find(&g.trace);
}

static const struct vt_replay *replay(void)
{
	struct vt_replay_options options;

	vt_replay_options_init(&options, &g.trace);
	options.is_compared = 1;
	vt_replay_run(&g.replay, &g.trace, &options);
	return &g.replay;
}

static const struct vt_replay *replay_with(const char *text)
{
	struct vt_replay_options options;

	vt_replay_options_init(&options, &g.trace);
	assert_int_equal(vt_settings_parse(&options.settings, text, NULL), 0);
	vt_replay_run(&g.replay, &g.trace, &options);
	return &g.replay;
}

static int enter(void **state)
{
	memset(&g, 0, sizeof(g));
	return unit_enter(state);
}

static int leave(void **state)
{
	vt_trace_release(&g.trace);
	vt_analysis_close(&g.analysis);
	return unit_leave(state);
}

static struct builder_db *start(uint64_t total_mib)
{
	struct builder_db *b = build_open("run.db");

	build_device(b, 0, total_mib * MIB, 0);
	return b;
}

static void a_recording_by_the_rules_is_reproduced(void **state)
{
	struct builder_db *b = start(1000);
	int64_t first;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	first = build_block_at(b, AT(0), 3 * MIB);
	build_block_at(b, AT(3), 4 * MIB);
	build_free(b, first, NULL);
	build_block_at(b, AT(0), 3 * MIB);
	build_segment_at(b, AT(20), 14 * MIB);
	build_block_at(b, AT(20), 14 * MIB);
	build_close(b);

	open_trace();
	replay();

	assert_int_equal(vt_replay_is_exact(&g.replay), 1);
	assert_int_equal(g.replay.nr_blocks, 4);
	assert_int_equal(g.replay.nr_changes, 2);
	assert_int_equal(g.replay.peak_reserved_bytes, 34 * MIB);
	assert_int_equal(g.replay.peak_allocated_bytes, 21 * MIB);
	assert_int_equal(g.nr_streams, 1);
}

static void what_the_rules_would_not_do_is_counted(void **state)
{
	struct builder_db *b = start(1000);
	int64_t second;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	second = build_block_at(b, AT(5), 4 * MIB); /* not at the front of what is free */
	build_close(b);

	open_trace();
	replay();

	assert_int_equal(vt_replay_is_exact(&g.replay), 0);
	assert_int_equal(g.replay.nr_blocks_elsewhere, 1);
	assert_int_equal(g.replay.first_difference, second);
}

static void a_segment_that_nobody_needed_is_counted(void **state)
{
	struct builder_db *b = start(1000);

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_segment_at(b, AT(20), 22 * MIB); /* 20 would do */
	build_block_at(b, AT(20), 20 * MIB);
	build_close(b);

	open_trace();
	replay();

	assert_int_equal(g.replay.nr_changes_other, 1);
	assert_true(g.replay.nr_reserved_other > 0);
}

static void a_better_fit_left_alone_is_another_streams(void **state)
{
	struct builder_db *b = start(1000);
	int64_t other;

	(void)state;
	build_segment_at(b, AT(0), 12 * MIB);
	other = build_block_at(b, AT(0), 12 * MIB);
	build_free(b, other, NULL);
	build_segment_at(b, AT(20), 12 * MIB);
	build_block_at(b, AT(20), 12 * MIB);
	build_close(b);

	open_trace();
	replay();

	assert_int_equal(g.nr_streams, 2);
	assert_int_not_equal(g.trace.segments.items[0].stream, g.trace.segments.items[1].stream);
	assert_int_equal(vt_replay_is_exact(&g.replay), 1);
}

static void max_split_is_no_sign_of_streams(void **state)
{
	struct builder_db *b = start(1000);
	int64_t large;

	(void)state;
	build_run(b, "env:PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:32");
	build_segment_at(b, AT(0), 64 * MIB);
	large = build_block_at(b, AT(0), 64 * MIB);
	build_free(b, large, NULL);
	build_segment_at(b, AT(100), 12 * MIB);
	build_block_at(b, AT(100), 12 * MIB);
	build_close(b);

	open_trace();

	assert_int_equal(g.nr_streams, 1);
	assert_int_equal(vt_replay_is_exact(replay()), 1);
}

/* Told by the Python frame where the native stack has no symbols, or by nobody having needed it. */
static void calls_of_empty_cache_are_found(void **state)
{
	static const struct build_event call = { .python = EMPTY_CACHE };
	struct builder_db *b = start(20);
	int64_t of_segment, of_block;

	(void)state;
	of_segment = build_segment_at(b, AT(0), 12 * MIB);
	of_block = build_block_at(b, AT(0), 12 * MIB);
	build_free(b, of_block, NULL);
	build_free(b, of_segment, NULL);
	of_segment = build_segment_at(b, AT(0), 2 * MIB);
	of_block = build_block_at(b, AT(0), 512);
	build_free(b, of_block, NULL);
	build_free(b, of_segment, &call);
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 20 * MIB);
	build_close(b);

	open_trace();
	replay();

	assert_int_equal(vt_replay_is_exact(&g.replay), 1);
	assert_int_equal(g.replay.nr_retries, 0);
}

static void what_a_request_needed_was_no_empty_cache(void **state)
{
	struct builder_db *b = start(20);
	int64_t of_segment, of_block;

	(void)state;
	of_segment = build_segment_at(b, AT(0), 12 * MIB);
	of_block = build_block_at(b, AT(0), 12 * MIB);
	build_free(b, of_block, NULL);
	build_free(b, of_segment, NULL);
	build_segment_at(b, AT(0), 14 * MIB);
	build_block_at(b, AT(0), 14 * MIB);
	build_close(b);

	open_trace();
	replay();

	assert_int_equal(vt_replay_is_exact(&g.replay), 1);
	assert_int_equal(g.replay.nr_retries, 1);
}

static void the_device_bounds_a_replay(void **state)
{
	struct builder_db *b = start(100);
	int64_t first;

	(void)state;
	build_segment_at(b, AT(0), 60 * MIB);
	first = build_block_at(b, AT(0), 60 * MIB);
	build_free(b, first, NULL);
	build_segment_at(b, AT(60), 30 * MIB);
	build_block_at(b, AT(60), 12 * MIB); /* cannot be: the rules would cut the 60 */
	build_close(b);

	open_trace();

	assert_int_equal(g.trace.capacity_bytes, 100 * MIB);
	replay_with("large_segment_size_mb:128,max_split_size_mb:128");
	assert_int_equal(g.replay.failure.event, 0);
	g.trace.capacity_bytes = 50 * MIB;
	replay_with("");
	assert_int_equal(g.replay.failure.event, first);
	assert_int_equal(g.replay.failure.request_bytes, 60 * MIB);
}

/* 40 MiB are free in two halves: not for one request, but for an expandable segment. */
static void a_failed_request_is_tried_again(void **state)
{
	static const struct build_event failed = { .size = 30 * MIB, .python = BUILD_MAIN };
	struct builder_db *b = start(80);
	int64_t blocks[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		if (i % 2 == 0)
			build_segment_at(b, AT(20 * i), 40 * MIB);
		blocks[i] = build_block_at(b, AT(20 * i), 20 * MIB);
	}
	build_free(b, blocks[0], NULL);
	build_free(b, blocks[2], NULL);
	build_oom(b, &failed);
	build_close(b);

	open_trace();
	/* Each 20 MiB would have had a segment of its own by the rules: 40 were asked for. */
	assert_int_equal(replay_with("")->nr_rescued, 1);
	assert_int_equal(replay_with("expandable_segments:True")->nr_rescued, 1);
	g.trace.capacity_bytes = 60 * MIB;
	assert_int_equal(replay_with("expandable_segments:True")->failure.event, blocks[3]);
}

/* The granule before the one that failed was made, and let go before the cache went back. */
static void handles_that_are_never_mapped_are_nobodys(void **state)
{
	struct builder_db *b = start(40);
	int64_t handle;

	(void)state;
	handle = build_alloc(b, &(struct build_event){ .kind = VT_KIND_VMM, .size = 20 * MIB });
	build_map(b, handle, AT(0), 60 * MIB, VT_OP_RESERVE);
	build_map(b, handle, AT(0), 20 * MIB, VT_OP_MAP);
	build_block_at(b, AT(0), 16 * MIB);
	handle = build_alloc(b, &(struct build_event){ .kind = VT_KIND_VMM, .size = 20 * MIB });
	build_free(b, handle, NULL);
	build_close(b);

	open_trace();

	assert_int_equal(g.trace.settings.is_expandable, 1);
	assert_int_equal(g.trace.steps.len, 1);
	assert_int_equal(vt_replay_is_exact(replay()), 1);
	assert_int_equal(g.replay.peak_reserved_bytes, 20 * MIB);
}

/* One place asks for 13 MiB and a half: cut exactly once, with a tail the second time. */
static void a_tail_is_told_by_the_same_place(void **state)
{
	struct builder_db *b = start(1000);
	uint64_t request = 13 * MIB + MIB / 2;
	int64_t exact, wide;

	(void)state;
	build_segment_at(b, AT(0), 30 * MIB);
	wide = build_block_at(b, AT(0), 30 * MIB);
	build_free(b, wide, NULL);
	exact = build_block_at(b, AT(0), request);
	build_free(b, exact, NULL);
	build_segment_at(b, AT(100), 14 * MIB);
	build_alloc(b,
		    &(struct build_event){
			    .address = AT(100), .size = 14 * MIB, .python = BUILD_MAIN });
	build_alloc(b, &(struct build_event){
			       .address = AT(0), .size = 30 * MIB, .python = "other.py:1 main" });
	build_close(b);

	open_trace();

	assert_int_equal(g.requests.nr_known, 1);
	assert_int_equal(g.requests.nr_likely, 1);
	assert_int_equal(g.requests.nr_blocks, 2);
	for (size_t i = 0; i < g.trace.steps.len; i++) {
		const struct vt_trace_step *step = &g.trace.steps.items[i];

		if (step->op == VT_TRACE_TAKE &&
		    g.analysis.model.allocations[step->allocation].address == AT(100))
			assert_int_equal(vt_trace_bytes(&g.trace, step), request);
	}
}

static void a_tail_is_told_by_a_storage_that_was_seen(void **state)
{
	struct builder_db *b = start(1000);
	struct vt_db *db;
	struct vt_diag diag = { 0 };
	char sql[200];
	int64_t whole;

	(void)state;
	build_segment_at(b, AT(0), 14 * MIB);
	whole = build_block_at(b, AT(0), 14 * MIB);
	build_close(b);
	assert_int_equal(vt_db_open(&db, "run.db", VT_DB_WRITE, &diag), 0);
	vt_db_exec(db,
		   "CREATE TABLE IF NOT EXISTS tensor (id INTEGER PRIMARY KEY, event INTEGER,"
		   " probe INTEGER, device INTEGER, address INTEGER, size_bytes INTEGER,"
		   " role INTEGER, flags INTEGER)");
	snprintf(sql, sizeof(sql),
		 "INSERT INTO tensor (event, probe, device, address, size_bytes, role, flags)"
		 " VALUES (%lld, 1, 0, %llu, %llu, 1, 0)",
		 (long long)whole, (unsigned long long)AT(0), 13 * MIB + 700000);
	assert_int_equal(vt_db_exec(db, sql), 0);
	vt_db_close(db);

	open_trace();

	assert_int_equal(g.requests.nr_known, 1);
	assert_int_equal(vt_trace_bytes(&g.trace, &g.trace.steps.items[0]),
			 vt_settings_round(&g.trace.settings, 13 * MIB + 700000));
}

/* A request that the block cannot have come of is another's; one below 512 bytes needs none. */
static void a_recorded_request_is_what_is_asked_again(void **state)
{
	struct builder_db *b = start(1000);
	const uint64_t request = 13 * MIB + 3;

	(void)state;
	build_segment_at(b, AT(0), 14 * MIB);
	build_alloc(b, &(struct build_event){
			       .address = AT(0), .size = 14 * MIB, .requested = request });
	build_segment_at(b, AT(20), 2 * MIB);
	build_block_at(b, AT(20), 512);
	build_close(b);

	open_trace();

	assert_int_equal(g.requests.nr_known, 2);
	assert_int_equal(vt_trace_bytes(&g.trace, &g.trace.steps.items[0]), request);
	assert_int_equal(replay_with("expandable_segments:True")->peak_allocated_bytes,
			 13 * MIB + 512 + 512);
	assert_int_equal(replay_with("roundup_power2_divisions:2")->peak_allocated_bytes,
			 16 * MIB + 512);
}

static void an_impossible_request_is_not_believed(void **state)
{
	struct builder_db *b = start(1000);

	(void)state;
	build_segment_at(b, AT(0), 14 * MIB);
	build_alloc(b, &(struct build_event){
			       .address = AT(0), .size = 14 * MIB, .requested = 14 * MIB + 1 });
	build_close(b);

	open_trace();

	assert_int_equal(vt_trace_bytes(&g.trace, &g.trace.steps.items[0]), 14 * MIB);
}

/* The last block of the second segment was given a stream that is not the thread's current one. */
static void recorded_streams_share_nothing(void **state)
{
	struct builder_db *b = start(1000);
	const uint64_t streams[] = { 7, 7, 0 };

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 20 * MIB);
	build_segment_at(b, AT(20), 20 * MIB);
	for (unsigned i = 0; i < 3; i++)
		build_alloc(b, &(struct build_event){ .address = AT(20 + 3 * i),
						      .size = 3 * MIB,
						      .stream = streams[i] });
	build_close(b);

	open_trace();

	assert_int_equal(g.nr_streams, 2);
	assert_int_equal(g.trace.segments.items[1].stream, 1);
	assert_int_equal(vt_replay_is_exact(replay()), 1);
}

static void a_graphs_pool_is_kept_until_the_graph_goes(void **state)
{
	static const struct build_event call = { .python = EMPTY_CACHE };
	struct builder_db *b = start(1000);
	int64_t own, usual, inside, small, left, gone;

	(void)state;
	usual = build_segment_at(b, AT(0), 12 * MIB);
	build_free(b, build_block_at(b, AT(0), 12 * MIB), NULL);
	small = build_segment_at(b, AT(40), 2 * MIB);
	left = build_block_at(b, AT(40), 512);
	build_graph(b, VT_OP_CAPTURE_BEGIN, 1, 0);
	own = build_segment_at(b, AT(20), 12 * MIB); /* though there was one in the usual pool */
	inside = build_block_at(b, AT(20), 12 * MIB);
	build_free(b, inside, NULL);
	build_graph(b, VT_OP_CAPTURE_END, 1, 2);
	build_free(b, usual, &call);
	build_free(b, left, NULL);
	gone = build_graph(b, VT_OP_DESTROY, 2, 0);
	build_free(b, own, &call);
	build_free(b, small, &call);
	build_close(b);

	open_trace();

	assert_int_equal(g.trace.segments.items[2].pool, 1);
	assert_int_equal(g.trace.segments.items[2].kept_until, gone);
	assert_int_equal(g.nr_streams, 1);
	assert_int_equal(vt_replay_is_exact(replay()), 1);
	assert_int_equal(g.replay.nr_changes, 6);
}

static void a_layout_tells_free_segments_from_pinned_gaps(void **state)
{
	struct builder_db *b = start(1000);
	struct vt_layout_account account;
	struct vt_follow follow;
	struct vt_layout layout;
	int64_t gone, left;

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	gone = build_block_at(b, AT(0), 3 * MIB);
	left = build_block_at(b, AT(3), 4 * MIB);
	build_free(b, gone, NULL);
	build_segment_at(b, AT(100), 32 * MIB);
	gone = build_block_at(b, AT(100), 32 * MIB);
	build_free(b, gone, NULL);
	build_segment_at(b, AT(200), 2 * MIB);
	build_block_at(b, AT(200), MIB);
	build_close(b);

	open_trace();
	vt_follow_init(&follow, &g.trace);
	vt_follow_to(&follow, VT_NEVER);
	vt_layout_init(&layout, &follow, 0);
	vt_layout_account(&account, &follow, 15 * MIB, 0, 54 * MIB);

	assert_int_equal(layout.totals.reserved_bytes, 54 * MIB);
	assert_int_equal(layout.totals.allocated_bytes, 5 * MIB);
	assert_int_equal(layout.totals.free_bytes, 32 * MIB);
	assert_int_equal(layout.totals.pinned_bytes, 17 * MIB);
	assert_int_equal(layout.totals.largest_free_bytes, 32 * MIB);
	assert_int_equal(layout.pins.len, 2);
	assert_int_equal(g.analysis.model.allocations[layout.pins.items[0].allocation].event, left);
	assert_int_equal(layout.pins.items[0].bytes, 16 * MIB);
	assert_int_equal(account.serving_bytes, 32 * MIB);
	assert_int_equal(account.too_small_bytes, 16 * MIB);
	assert_int_equal(account.other_pool_bytes, MIB);
	assert_int_equal(account.returnable_bytes, 32 * MIB);
	assert_int_equal(account.device_free_bytes, 946 * MIB);
	assert_int_equal(account.segment_bytes, 16 * MIB);
	vt_layout_release(&layout);
	vt_follow_release(&follow);
}

static void assert_refused(const char *why)
{
	struct vt_diag diag = { 0 };

	assert_int_equal(init_trace(&diag), -1);
	assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
	assert_non_null(strstr(diag.text, why));
}

static void without_blocks_there_is_nothing_to_replay(void **state)
{
	struct builder_db *b = start(1000);

	(void)state;
	build_segment_at(b, AT(0), 20 * MIB);
	build_close(b);
	assert_refused("no blocks of PyTorch's caching allocator");
}

static void the_drivers_own_pools_are_not_replayed(void **state)
{
	struct builder_db *b = start(1000);

	(void)state;
	build_run(b, "env:PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync");
	build_segment_at(b, AT(0), 20 * MIB);
	build_block_at(b, AT(0), 3 * MIB);
	build_close(b);
	assert_refused("backend:cudaMallocAsync");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_recording_by_the_rules_is_reproduced),
		TEST(what_the_rules_would_not_do_is_counted),
		TEST(a_segment_that_nobody_needed_is_counted),
		TEST(a_better_fit_left_alone_is_another_streams),
		TEST(max_split_is_no_sign_of_streams),
		TEST(calls_of_empty_cache_are_found),
		TEST(what_a_request_needed_was_no_empty_cache),
		TEST(the_device_bounds_a_replay),
		TEST(a_failed_request_is_tried_again),
		TEST(handles_that_are_never_mapped_are_nobodys),
		TEST(a_tail_is_told_by_the_same_place),
		TEST(a_tail_is_told_by_a_storage_that_was_seen),
		TEST(a_recorded_request_is_what_is_asked_again),
		TEST(an_impossible_request_is_not_believed),
		TEST(recorded_streams_share_nothing),
		TEST(a_graphs_pool_is_kept_until_the_graph_goes),
		TEST(a_layout_tells_free_segments_from_pinned_gaps),
		TEST(without_blocks_there_is_nothing_to_replay),
		TEST(the_drivers_own_pools_are_not_replayed),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
