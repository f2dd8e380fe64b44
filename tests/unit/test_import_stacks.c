/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

/* 3.10: bytes [0,2) line +1, [2,6) line +2, [6,8) no line. */
static const unsigned char table[] = { 2, 1, 4, 2, 2, 0x80 };

static void stacks_are_trees_that_share_their_outer_frames(void **state)
{
	static const uint64_t one[] = { 0x300, 0x200, 0x100 }, two[] = { 0x400, 0x200, 0x100 };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_native_stack(&b, 1, one, 3);
	builder_native_stack(&b, 2, two, 3);
	builder_native_stack(&b, 3, one + 1, 2);
	builder_native_stack(&b, 4, NULL, 0);
	db = unit_import(&b, "trees.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_frame"), 4);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_node"), 4);
	assert_int_equal(unit_int(db, "SELECT depth FROM native_stack WHERE id = 2"), 3);
	/* Up from the leaf: innermost first. */
	unit_assert_text(
		db,
		"WITH RECURSIVE up(node, depth) AS (SELECT leaf, 0 FROM native_stack WHERE id = 2"
		" UNION ALL SELECT parent, depth + 1 FROM up JOIN native_node ON id = node"
		" WHERE parent) SELECT group_concat(address) FROM (SELECT address FROM up"
		" JOIN native_node n ON n.id = node JOIN native_frame f ON f.id = n.frame"
		" ORDER BY depth)",
		"1024,512,256");
	assert_int_equal(unit_int(db,
				  "SELECT parent FROM native_node n JOIN native_stack s"
				  " ON s.leaf = n.id WHERE s.id = 3"),
			 1);
	vt_db_close(db);
	builder_release(&b);
}

/* A return address at the very end of a module belongs to it, one at its beginning does not. */
static void a_frame_belongs_to_the_module_of_its_call(void **state)
{
	static const uint64_t frames[] = { 0x2000, 0x1000, 0x2001 };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_module(&b, 0x1000, 0x2000, "/lib/one.so");
	builder_native_stack(&b, 1, frames, 3);
	db = unit_import(&b, "modules.db");

	assert_int_equal(unit_int(db, "SELECT module FROM native_frame WHERE address = 0x2000"), 1);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_frame WHERE module IS NULL"), 2);
	unit_assert_text(db, "SELECT build_id FROM module", "ab01");
	vt_db_close(db);
	builder_release(&b);
}

static void a_module_that_replaces_another_gets_frames_of_its_own(void **state)
{
	static const uint64_t frames[] = { 0x1800, 0x1200 };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_module(&b, 0x1000, 0x2000, "/lib/one.so");
	builder_native_stack(&b, 1, frames, 2);
	builder_module(&b, 0x1000, 0x1600, "/lib/two.so");
	builder_native_stack(&b, 2, frames, 2);
	db = unit_import(&b, "replaced.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_frame WHERE address = 0x1200"),
			 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM native_frame WHERE address = 0x1800"),
			 1);
	vt_db_close(db);
	builder_release(&b);
}

static void python_frames_have_lines(void **state)
{
	static const struct vt_python_frame frames[] = {
		{ .code = 1, .instruction_bytes = 0 },
		{ .code = 1, .instruction_bytes = 2 },
		{ .code = 1, .instruction_bytes = 4 },
		{ .code = 1, .instruction_bytes = 6 },
		{ .code = 1, .instruction_bytes = UINT32_MAX },
	};
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_python_code(&b, 1, "Block.forward", 10, table, sizeof(table));
	builder_python_stack(&b, 1, frames, 5);
	db = unit_import(&b, "lines.db");

	/* Two instructions of one line are one frame. */
	unit_assert_text(db,
			 "SELECT group_concat(line) FROM (SELECT line FROM python_frame"
			 " ORDER BY line)",
			 "0,10,11,13");
	assert_int_equal(unit_int(db, "SELECT depth FROM python_stack"), 5);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM python_node"), 5);
	unit_assert_text(db, "SELECT name FROM python_code", "Block.forward");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM python_line_table"), 0);
	vt_db_close(db);
	builder_release(&b);
}

static void instances_of_a_module_are_frames_of_their_own(void **state)
{
	static const struct vt_python_frame frames[] = {
		{ .code = 1, .self_type = 7, .self_address = 0x10 },
		{ .code = 1, .self_type = 7, .self_address = 0x20 },
		{ .code = 1, .self_type = 8, .self_address = 0x20 },
	};
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_python_code(&b, 1, "f", 10, table, sizeof(table));
	builder_python_stack(&b, 1, frames, 3);
	builder_python_stack(&b, 2, frames, 3);
	db = unit_import(&b, "instances.db");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM python_frame"), 3);
	assert_int_equal(unit_int(db, "SELECT self_address FROM python_frame WHERE self_type = 8"),
			 32);
	vt_db_close(db);
	builder_release(&b);
}

static void a_stack_may_come_before_its_code_object(void **state)
{
	static const struct vt_python_frame frames[] = {
		{ .code = 1, .instruction_bytes = 2 },
		{ .code = 9, .instruction_bytes = 2 },
	};
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_python_stack(&b, 1, frames, 2);
	db = unit_import_slots(builder_header(&b), builder_slots(&b), b.nr_slots, 10, "late.db");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM python_frame WHERE line = -3"), 2);
	vt_db_close(db);
	builder_python_code(&b, 1, "f", 10, table, sizeof(table));
	db = unit_import(&b, "late.db");

	assert_int_equal(unit_int(db, "SELECT line FROM python_frame WHERE code = 1"), 13);
	/* The other one never came. */
	assert_int_equal(unit_int(db, "SELECT line FROM python_frame WHERE code = 9"), 0);
	unit_assert_text(db, "SELECT name FROM python_code WHERE id = 9", "?");
	vt_db_close(db);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_trees_that_share_their_outer_frames),
		cmocka_unit_test(a_frame_belongs_to_the_module_of_its_call),
		cmocka_unit_test(a_module_that_replaces_another_gets_frames_of_its_own),
		cmocka_unit_test(python_frames_have_lines),
		cmocka_unit_test(instances_of_a_module_are_frames_of_their_own),
		cmocka_unit_test(a_stack_may_come_before_its_code_object),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
