/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"
#include "analyzer/model/captures.h"
#include "tests/lib/database_builder.h"

#define BASE   0x700000000000ull
#define STREAM 5
#define GRAPH  71
#define EXEC   81

static void segment(struct builder_db *b, unsigned number, uint64_t size)
{
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT,
					      .address = BASE + number * 0x100000,
					      .size = size });
}

static int64_t block(struct builder_db *b, unsigned number, uint64_t size, uint32_t thread)
{
	return build_alloc(b, &(struct build_event){ .address = BASE + number * 0x100000,
						     .size = size,
						     .thread = thread });
}

/* Captures on one stream, as PyTorch does it: the graph is destroyed once it is executable. */
static void end_capture(struct builder_db *b, unsigned number)
{
	build_graph(b, VT_OP_CAPTURE_END, STREAM, GRAPH + number);
	build_graph(b, VT_OP_INSTANTIATE, EXEC + number, GRAPH + number);
	build_graph(b, VT_OP_DESTROY, GRAPH + number, 0);
}

static uint64_t rest(const struct vt_books *books, const char *owner)
{
	for (uint32_t i = 0; i < books->nr_rest; i++)
		if (!strcmp(books->rest[i].owner, owner))
			return books->rest[i].bytes;
	return 0;
}

static void open_run(struct vt_analysis *analysis)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
}

static void what_a_capture_leaves_free_is_its_pool_until_the_graph_is_gone(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t temporary, live, gone;

	(void)state;
	segment(b, 0, 1000);
	block(b, 0, 100, 0);
	build_graph(b, VT_OP_CAPTURE_BEGIN, STREAM, 0);
	segment(b, 1, 4000);
	block(b, 1, 300, 0);
	segment(b, 2, 5000);
	temporary = block(b, 2, 5000, 0);
	build_free(b, temporary, NULL);
	end_capture(b, 0);
	live = build_mark(b, "live", VT_MARK_POINT, VT_SOURCE_USER);
	gone = build_graph(b, VT_OP_DESTROY, EXEC, 0);
	build_close(b);
	open_run(&analysis);

	vt_books_init(&books, &analysis.attribution, 0, live);
	assert_int_equal(analysis.model.nr_captures, 1);
	assert_int_equal(rest(&books, "graph pools/1"), 8700);
	assert_int_equal(books.graph_pool_bytes, 8700);
	assert_int_equal(books.pinned_bytes, 900);
	assert_int_equal(books.free_segment_bytes, 0);
	assert_int_equal(books.difference_bytes, 0);
	vt_books_release(&books);
	vt_books_init(&books, &analysis.attribution, 0, gone);
	assert_int_equal(books.graph_pool_bytes, 0);
	assert_int_equal(books.pinned_bytes, 900 + 3700);
	assert_int_equal(books.free_segment_bytes, 5000);
	assert_int_equal(books.difference_bytes, 0);
	vt_books_release(&books);
	vt_analysis_close(&analysis);
}

/* The last segment was made while another thread captured, but for everybody. */
static void a_pool_serves_captures_and_its_own_warm_up(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;

	(void)state;
	/* The pool was warmed up before the capture, as torch.compile does it. */
	segment(b, 2, 1000);
	build_free(b, block(b, 2, 100, 0), NULL);
	build_graph(b, VT_OP_CAPTURE_BEGIN, STREAM, 0);
	block(b, 2, 300, 0);
	segment(b, 0, 1000);
	block(b, 0, 100, BUILD_ENGINE_THREAD);
	segment(b, 1, 1000);
	build_free(b, block(b, 1, 100, BUILD_ENGINE_THREAD), NULL);
	end_capture(b, 0);
	block(b, 1, 200, 0);
	build_close(b);
	open_run(&analysis);

	assert_int_equal(analysis.model.nr_segments, 3);
	assert_int_equal(analysis.model.segments[0].capture, 1);
	/* The backward pass's thread got memory for the captured stream. */
	assert_int_equal(analysis.model.segments[1].capture, 1);
	assert_int_equal(analysis.model.segments[2].capture, 0);
	vt_analysis_close(&analysis);
}

static void captures_that_share_a_segment_share_a_pool(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	const struct vt_segment *segments;
	int64_t first_gone, last;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		build_graph(b, VT_OP_CAPTURE_BEGIN, STREAM, 0);
		if (i != 1)
			segment(b, i, 1000);
		build_free(b, block(b, i == 2 ? 2 : 0, 100, 0), NULL);
		end_capture(b, i);
	}
	first_gone = build_graph(b, VT_OP_DESTROY, EXEC, 0);
	last = build_graph(b, VT_OP_DESTROY, EXEC + 1, 0);
	build_close(b);
	open_run(&analysis);

	segments = analysis.model.segments;
	assert_int_equal(segments[0].capture, 1);
	assert_int_equal(segments[1].capture, 3);
	assert_true(vt_captures_is_private(&analysis.model, &segments[0], first_gone));
	assert_false(vt_captures_is_private(&analysis.model, &segments[0], last));
	assert_true(vt_captures_is_private(&analysis.model, &segments[1], last));
	vt_analysis_close(&analysis);
}

static void an_invalid_capture_leaves_nothing_to_replay(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t end;

	(void)state;
	build_graph(b, VT_OP_CAPTURE_BEGIN, STREAM, 0);
	segment(b, 0, 1000);
	block(b, 0, 100, 0);
	end = build_graph(b, VT_OP_CAPTURE_END, STREAM, 0);
	build_close(b);
	open_run(&analysis);

	assert_int_equal(analysis.model.segments[0].capture, 1);
	assert_true(vt_captures_is_private(&analysis.model, &analysis.model.segments[0], end - 1));
	assert_false(vt_captures_is_private(&analysis.model, &analysis.model.segments[0], end));
	vt_analysis_close(&analysis);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_capture_leaves_free_is_its_pool_until_the_graph_is_gone),
		TEST(a_pool_serves_captures_and_its_own_warm_up),
		TEST(captures_that_share_a_segment_share_a_pool),
		TEST(an_invalid_capture_leaves_nothing_to_replay),
	};

	return cmocka_run_group_tests_name("captures", tests, NULL, NULL);
}
