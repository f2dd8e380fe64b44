/* SPDX-License-Identifier: MIT */
/* What is said of events that were lost, and of memory that they may have freed. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/model/losses.h"

#define MIB (1ull << 20)

static void block(struct builder *b, uint64_t address, uint64_t allocated_bytes)
{
	builder_event(b, (struct vt_event_record){ .op = VT_OP_ALLOC,
						   .kind = VT_KIND_BLOCK,
						   .address = address,
						   .size_bytes = 2 * MIB,
						   .allocated_bytes = allocated_bytes });
}

/* Three blocks and a pool's memory, then a gap, then a block: so much is allocated by then. */
static struct vt_lines lines_of(struct vt_db **db, uint64_t allocated_bytes, const char *path)
{
	struct builder b;

	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x10000000, 20 * MIB);
	block(&b, 0x10000000, 2 * MIB);
	block(&b, 0x10200000, 4 * MIB);
	block(&b, 0x10400000, 6 * MIB);
	builder_call(&b, 1, VT_OP_LOSS, VT_KIND_BLOCK, 0, 5, 0);
	block(&b, 0x10600000, allocated_bytes);
	builder_free(&b, VT_KIND_BLOCK, 0x10200000);
	builder_header(&b)->lost_events = 5;
	*db = unit_import(&b, path);
	builder_release(&b);
	return vt_losses_find(*db);
}

static void what_pytorch_has_no_more_is_said(void **state)
{
	struct vt_db *db;
	struct vt_lines lines = lines_of(&db, 4 * MIB, "gone.db");

	(void)state;
	assert_int_equal(lines.nr, 3);
	assert_int_equal(vt_losses_count(db), 5);
	assert_non_null(strstr(lines.text[0], "5 events were lost because the journal was full"));
	assert_string_equal(lines.text[1],
			    "2 block allocations (4.00 MiB) from before the loss, with no event"
			    " since, are counted; 4.00 MiB of them are freed, by PyTorch's own"
			    " count");
	assert_string_equal(lines.text[2],
			    "1 allocation (20.00 MiB) from before the loss, with no event"
			    " since: whether they were freed is unknown");
	vt_lines_free(&lines);
	vt_db_close(db);
}

static void what_pytorch_still_has_is_not_doubted(void **state)
{
	struct vt_db *db;
	struct vt_lines lines = lines_of(&db, 8 * MIB, "there.db");

	(void)state;
	assert_int_equal(lines.nr, 1);
	vt_lines_free(&lines);
	vt_db_close(db);
}

/* Weights in a run without PyTorch are never heard of again, and are there. */
static void what_nobody_tells_is_one_line_and_unknown(void **state)
{
	struct vt_lines lines;
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x10000000, 20 * MIB);
	block(&b, 0x10000000, 0);
	builder_alloc(&b, VT_KIND_POOL, 0x20000000, 2 * MIB);
	builder_alloc(&b, VT_KIND_MANAGED, 0x30000000, 2 * MIB);
	builder_call(&b, 1, VT_OP_LOSS, VT_KIND_BLOCK, 0, 5, 0);
	builder_header(&b)->lost_events = 5;
	db = unit_import(&b, "silent.db");
	lines = vt_losses_find(db);
	assert_int_equal(lines.nr, 2);
	assert_string_equal(lines.text[1],
			    "3 allocations (24.00 MiB) from before the loss, with no event"
			    " since: whether they were freed is unknown");
	vt_lines_free(&lines);
	vt_db_close(db);
	builder_release(&b);
}

static void nothing_is_said_of_a_whole_recording(void **state)
{
	struct vt_lines lines;
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	block(&b, 0x10000000, 2 * MIB);
	db = unit_import(&b, "whole.db");
	lines = vt_losses_find(db);
	assert_int_equal(lines.nr, 0);
	assert_int_equal(vt_losses_count(db), 0);
	assert_false(vt_losses_is_cut(db));
	vt_lines_free(&lines);
	vt_db_close(db);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_pytorch_has_no_more_is_said),
		cmocka_unit_test(what_pytorch_still_has_is_not_doubted),
		cmocka_unit_test(what_nobody_tells_is_one_line_and_unknown),
		cmocka_unit_test(nothing_is_said_of_a_whole_recording),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
