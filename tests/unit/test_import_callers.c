/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/import/import_callers.h"

/* More than are remembered. */
#define MANY 70000

static struct {
	struct vt_db *db;
	struct vt_import_callers freed;
} g;

static void open_table(void)
{
	vt_import_callers_init(&g.freed, g.db, "allocation_freed", 8, 2);
}

static int set_up(void **state)
{
	struct vt_diag diag = { 0 };

	(void)state;
	if (vt_db_open_memory(&g.db, "callers.db", &diag) || vt_db_begin(g.db))
		return -1;
	open_table();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vt_import_callers_release(&g.freed);
	vt_db_close(g.db);
	return 0;
}

static int64_t id_of(int64_t thread, int64_t stack, int64_t grad)
{
	const int64_t values[VT_IMPORT_CALLERS_COLUMNS] = { thread, 0, stack, [7] = grad };

	return vt_import_callers_id(&g.freed, values);
}

static void each_is_written_once(void **state)
{
	(void)state;
	assert_int_equal(id_of(1, 2, 0), 1);
	assert_int_equal(id_of(1, 2, 1), 2);
	assert_int_equal(id_of(1, 3, 0), 3);
	assert_int_equal(id_of(2, 2, 0), 4);
	assert_int_equal(id_of(1, 2, 0), 1);
	assert_int_equal(id_of(1, 2, 1), 2);
	assert_int_equal(unit_int(g.db, "SELECT count(*) FROM allocation_freed"), 4);
}

static void what_is_not_known_is_null_and_what_must_be_there_is_not(void **state)
{
	(void)state;
	id_of(0, 0, 2);
	unit_assert_text(g.db,
			 "SELECT thread || ',' || function || ',' || ifnull(native_stack, 'none')"
			 " || ',' || ifnull(scope, 'none') || ',' || grad FROM allocation_freed",
			 "0,0,none,none,2");
}

static void a_later_import_knows_them(void **state)
{
	(void)state;
	id_of(1, 2, 0);
	id_of(1, 3, 0);
	vt_import_callers_release(&g.freed);
	open_table();
	assert_int_equal(id_of(1, 2, 0), 1);
	assert_int_equal(id_of(1, 4, 0), 3);
	assert_int_equal(id_of(1, 3, 0), 2);
}

static void what_is_remembered_is_bounded(void **state)
{
	size_t most = 0;

	(void)state;
	for (int64_t i = 0; i < MANY; i++) {
		assert_int_equal(id_of(7, i, 0), i + 1);
		most = g.freed.known.nr > most ? g.freed.known.nr : most;
	}
	assert_int_equal(most, 65536);
	/* Forgotten: another row of the same. */
	assert_int_equal(id_of(7, 0, 0), MANY + 1);
	assert_int_equal(id_of(7, MANY - 1, 0), MANY);
}

/* As a damaged file may have it. */
static void numbers_that_have_come_to_an_end_are_an_error(void **state)
{
	(void)state;
	assert_int_equal(vt_db_exec(g.db,
				    "INSERT INTO allocation_freed (id, thread, function)"
				    " VALUES (9223372036854775807, 1, 1)"),
			 0);
	vt_import_callers_release(&g.freed);
	open_table();
	assert_true(id_of(5, 5, 0) < 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_is_written_once),
		TEST(what_is_not_known_is_null_and_what_must_be_there_is_not),
		TEST(a_later_import_knows_them),
		TEST(what_is_remembered_is_bounded),
		TEST(numbers_that_have_come_to_an_end_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
