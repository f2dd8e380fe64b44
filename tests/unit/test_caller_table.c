/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdlib.h>

#include "analyzer/model/caller_table.h"

static struct {
	struct vt_db *db;
	struct vt_callers callers;
	struct vt_caller_table made, freed;
} g;

static void load(const char *rows)
{
	struct vt_diag diag = { 0 };

	assert_int_equal(vt_db_open_memory(&g.db, "callers.db", &diag), 0);
	assert_int_equal(vt_db_exec(g.db, rows), 0);
	assert_int_equal(vt_caller_table_load_made(&g.made, g.db, &g.callers, &diag), 0);
	assert_int_equal(vt_caller_table_load_freed(&g.freed, g.db, &g.callers, &diag), 0);
}

static int tear_down(void **state)
{
	(void)state;
	free(g.made.items);
	free(g.freed.items);
	vt_callers_release(&g.callers);
	vt_db_close(g.db);
	return 0;
}

static uint32_t stack_of(const struct vt_caller_table *table, int64_t id)
{
	return vt_caller_table_find(table, id)->caller->python_stack;
}

static void rows_are_found_by_their_ids(void **state)
{
	const struct vt_caller_row *row;

	(void)state;
	load("INSERT INTO allocation_made VALUES (1,1,2,7,100,3,4,5,6,8,9,1),"
	     " (2,2,-1,0,100,3,NULL,50,NULL,NULL,NULL,NULL);"
	     "INSERT INTO allocation_freed VALUES (1,3,101,4,5,6,8,9,2)");
	row = vt_caller_table_find(&g.made, 1);
	assert_int_equal(row->kind, 1);
	assert_int_equal(row->device, 2);
	assert_int_equal(row->caller->stream, 7);
	assert_int_equal(row->caller->thread, 3);
	assert_int_equal(row->caller->native_stack, 4);
	assert_int_equal(row->caller->scope, 6);
	assert_int_equal(row->caller->node_class, 8);
	assert_int_equal(row->caller->forward_python_stack, 9);
	assert_int_equal(row->caller->grad, 1);
	assert_int_equal(vt_caller_table_find(&g.made, 2)->device, -1);
	assert_int_equal(stack_of(&g.made, 2), 50);
	assert_int_equal(stack_of(&g.freed, 1), 5);
	row = vt_caller_table_find(&g.freed, 1);
	assert_int_equal(row->caller->scope, 6);
	assert_int_equal(row->caller->node_class, 8);
	assert_int_equal(row->caller->forward_python_stack, 9);
	assert_int_equal(row->caller->grad, 2);
}

/* As in a file of an older schema, whose callers have the numbers of events. */
static void ids_may_have_gaps(void **state)
{
	(void)state;
	load("INSERT INTO allocation_made (id, kind, device, stream, function, thread, "
	     "python_stack)"
	     " VALUES (-4,1,0,0,1,1,10), (2,1,0,0,1,1,20), (9,1,0,0,1,1,30), (700,1,0,0,1,1,40)");
	assert_int_equal(stack_of(&g.made, -4), 10);
	assert_int_equal(stack_of(&g.made, 2), 20);
	assert_int_equal(stack_of(&g.made, 9), 30);
	assert_int_equal(stack_of(&g.made, 700), 40);
}

static void what_is_not_there_is_nobody_s(void **state)
{
	static const int64_t ids[] = { INT64_MIN, -1, 0, 1, 3, 4, 8, INT64_MAX };

	(void)state;
	load("INSERT INTO allocation_made (id, kind, device, stream, function, thread, "
	     "python_stack)"
	     " VALUES (2,1,0,0,1,1,20), (5,1,0,0,1,1,30)");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_ptr_equal(vt_caller_table_find(&g.made, ids[i])->caller, &vt_caller_nobody);
		assert_ptr_equal(vt_caller_table_find(&g.freed, ids[i])->caller, &vt_caller_nobody);
	}
}

#define TEST(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_are_found_by_their_ids),
		TEST(ids_may_have_gaps),
		TEST(what_is_not_there_is_nobody_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
