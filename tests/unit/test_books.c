/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"
#include "tests/lib/database_builder.h"

#define BASE 0x700000000000ull
#define APPLY                                                                                      \
	"/usr/lib/python3/dist-packages/torch/nn/m.py:1 Module._apply Net@1 < train.py:30 main"

static void open_books(struct vt_analysis *analysis, struct vt_books *books, int device,
		       int64_t event)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_books_init(books, &analysis->attribution, device, event);
}

static void close_books(struct vt_analysis *analysis, struct vt_books *books)
{
	vt_books_release(books);
	vt_analysis_close(analysis);
}

static int64_t block(struct builder_db *b, uint64_t address, uint64_t size)
{
	return build_alloc(
		b, &(struct build_event){ .address = address, .size = size, .python = APPLY });
}

static int64_t driver(struct builder_db *b, enum vt_kind kind, uint64_t address, uint64_t size)
{
	return build_alloc(b,
			   &(struct build_event){ .kind = kind, .address = address, .size = size });
}

static void owners_cached_and_context_are_the_device_used(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t freed;

	(void)state;
	build_device(b, 0, 8ull << 30, 4096);
	driver(b, VT_KIND_SEGMENT, BASE, 10000);
	block(b, BASE, 1000);
	freed = block(b, BASE + 1000, 2000);
	driver(b, VT_KIND_SEGMENT, BASE + 20000, 500); /* nobody cuts it: owned as it is */
	freed = build_free(b, freed, NULL);
	build_close(b);

	open_books(&analysis, &books, 0, freed);

	assert_int_equal(books.used_bytes, 10500);
	assert_int_equal(books.reserved_bytes, 10000);
	assert_int_equal(books.allocated_bytes, 1000);
	assert_int_equal(books.cached_bytes, 9000);
	assert_int_equal(books.pinned_bytes, 9000);
	assert_int_equal(books.free_segment_bytes, 0);
	assert_int_equal(books.context_bytes, 4096);
	assert_int_equal(vt_books_device_used(&books), 14596);
	assert_int_equal(books.difference_bytes, 0);
	assert_int_equal(books.nr_lines, 2);
	assert_string_equal(books.lines[0].owner, "unknown");
	assert_int_equal(books.lines[0].bytes, 500);
	assert_string_equal(books.lines[1].owner, "weights");
	assert_int_equal(books.lines[1].bytes, 1000);
	assert_int_equal(books.lines[1].blocks, 1);
	assert_int_equal(books.lines[1].provenance[VT_PROVENANCE_FRAMES], 1000);
	close_books(&analysis, &books);
}

static void a_segment_without_a_live_block_is_cached_whole(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t only;

	(void)state;
	driver(b, VT_KIND_SEGMENT, BASE, 10000);
	only = block(b, BASE + 100, 1000);
	only = build_free(b, only, NULL);
	build_close(b);

	open_books(&analysis, &books, 0, only);

	assert_int_equal(books.cached_bytes, 10000);
	assert_int_equal(books.free_segment_bytes, 10000);
	assert_int_equal(books.nr_lines, 0);
	assert_false(books.has_context);
	assert_int_equal(books.difference_bytes, 0);
	close_books(&analysis, &books);
}

/*
 * An expandable segment: granules mapped behind each other, a block over two of them, one unmapped
 * again.
 */
static void blocks_in_mapped_memory_are_found(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t first, second, unused, last;

	(void)state;
	first = driver(b, VT_KIND_VMM, 11, 1000);
	build_map(b, first, BASE, 1000, VT_OP_MAP);
	second = driver(b, VT_KIND_VMM, 12, 1000);
	build_map(b, second, BASE + 1000, 1000, VT_OP_MAP);
	unused = driver(b, VT_KIND_VMM, 13, 300);
	build_map(b, unused, BASE + 2000, 300, VT_OP_MAP);
	build_map(b, unused, BASE + 2000, 300, VT_OP_UNMAP);
	block(b, BASE + 500, 1200);
	last = block(b, BASE + 2000, 100); /* where nothing is mapped any more */
	build_close(b);

	open_books(&analysis, &books, 0, last);

	assert_true(analysis.model.allocations[0].holds_blocks);
	assert_true(analysis.model.allocations[1].holds_blocks);
	assert_false(analysis.model.allocations[2].holds_blocks);
	assert_int_equal(books.used_bytes, 2300);
	assert_int_equal(books.reserved_bytes, 2000);
	assert_int_equal(books.cached_bytes, 800);
	/* A block in memory that nobody gave out is a fault of the record, and shows. */
	assert_int_equal(books.difference_bytes, -100);
	close_books(&analysis, &books);
}

/*
 * What empty_cache can unmap of an expandable segment is a granule without a live block, also one
 * into which a block of before reached.
 */
static void granules_are_free_one_by_one(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t over_two, both, one;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		build_map(b, driver(b, VT_KIND_VMM, 11 + i, 1000), BASE + i * 1000, 1000,
			  VT_OP_MAP);
	over_two = block(b, BASE + 500, 1900);
	both = block(b, BASE + 2400, 100);
	one = build_free(b, over_two, NULL);
	build_close(b);

	open_books(&analysis, &books, 0, both);
	assert_int_equal(books.free_segment_bytes, 0);
	assert_int_equal(books.pinned_bytes, 1000);
	assert_int_equal(books.difference_bytes, 0);
	vt_books_release(&books);
	vt_books_init(&books, &analysis.attribution, 0, one);
	assert_int_equal(books.free_segment_bytes, 2000);
	assert_int_equal(books.pinned_bytes, 900);
	assert_int_equal(books.difference_bytes, 0);
	close_books(&analysis, &books);
}

/* The same address used twice: blocks belong to what was there when they were made. */
static void reused_addresses_are_told_apart(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t plain, last;

	(void)state;
	plain = driver(b, VT_KIND_SEGMENT, BASE, 1000);
	build_free(b, plain, NULL);
	driver(b, VT_KIND_SEGMENT, BASE, 4000);
	last = block(b, BASE, 512);
	build_close(b);

	open_books(&analysis, &books, 0, last);

	assert_false(analysis.model.allocations[0].holds_blocks);
	assert_int_equal(analysis.model.allocations[2].container, 1);
	assert_int_equal(books.cached_bytes, 3488);
	close_books(&analysis, &books);
}

static void devices_have_books_of_their_own(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_books books;
	int64_t last;

	(void)state;
	build_device(b, 0, 8ull << 30, 0);
	build_device(b, 1, 8ull << 30, 0);
	driver(b, VT_KIND_SEGMENT, BASE, 1000);
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_POOL, .device = 1, .size = 70 });
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_PINNED, .device = 1, .size = 9000 });
	last = build_alloc(
		b, &(struct build_event){ .kind = VT_KIND_MANAGED, .device = 1, .size = 7 });
	build_close(b);

	open_books(&analysis, &books, 1, last);

	assert_int_equal(books.used_bytes, 77);
	assert_int_equal(books.nr_lines, 1);
	assert_int_equal(books.lines[0].blocks, 2);
	close_books(&analysis, &books);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(owners_cached_and_context_are_the_device_used),
		TEST(a_segment_without_a_live_block_is_cached_whole),
		TEST(blocks_in_mapped_memory_are_found),
		TEST(granules_are_free_one_by_one),
		TEST(reused_addresses_are_told_apart),
		TEST(devices_have_books_of_their_own),
	};

	return cmocka_run_group_tests_name("books", tests, NULL, NULL);
}
