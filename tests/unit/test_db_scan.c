/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/database/db_scan.h"

struct seen {
	int64_t ids[8], values[8];
	int is_null[8];
	unsigned nr;
};

static void see(void *context, const struct vt_scan_row *row)
{
	struct seen *seen = context;

	assert_true(seen->nr < 8);
	seen->ids[seen->nr] = vt_scan_int(row, 0);
	seen->values[seen->nr] = vt_scan_int(row, 1);
	seen->is_null[seen->nr++] = vt_scan_is_null(row, 1);
}

static struct vt_db *open_with(const char *sql)
{
	struct vt_db *db = NULL;

	assert_int_equal(vt_db_open_memory(&db, "memory", NULL), 0);
	assert_int_equal(vt_db_exec(db, sql), 0);
	return db;
}

/* Rows are put in another order than their ids have, and an index has a third one. */
static const char three_rows[] =
	"CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, value);"
	"INSERT INTO t VALUES (3, -7), (1, 9223372036854775807), (2, NULL), (9, 1);"
	"CREATE INDEX temp.odd ON t (value, id)";

static void rows_come_by_id_within_the_bounds(void **state)
{
	const int64_t bounds[] = { 0, 3 };
	struct vt_db *db = open_with(three_rows);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(vt_db_scan(db, "id, value", "t NOT INDEXED WHERE id > ?1 AND id <= ?2",
				    bounds, see, &seen),
			 0);
	assert_int_equal(seen.nr, 3);
	for (int64_t i = 0; i < 3; i++)
		assert_int_equal(seen.ids[i], i + 1);
	assert_int_equal(seen.values[0], INT64_MAX);
	assert_int_equal(seen.values[1], 0);
	assert_true(seen.is_null[1]);
	assert_int_equal(seen.values[2], -7);
	assert_false(seen.is_null[2]);
	vt_db_close(db);
}

static void no_rows_are_no_error(void **state)
{
	const int64_t bounds[] = { 3, 3 };
	struct vt_db *db = open_with(three_rows);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(
		vt_db_scan(db, "id, value", "t WHERE id > ?1 AND id <= ?2", bounds, see, &seen), 0);
	assert_int_equal(seen.nr, 0);
	vt_db_close(db);
}

static void what_cannot_be_read_is_said(void **state)
{
	const int64_t bounds[] = { 0, 3 };
	struct vt_db *db = open_with(three_rows);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(vt_db_scan(db, "id", "no_such_table WHERE ?1 < ?2", bounds, see, &seen),
			 -1);
	assert_non_null(strstr(vt_db_error(db), "no_such_table"));
	assert_int_equal(seen.nr, 0);
	vt_db_close(db);
}

/* The function is there for our query only: a file's view that calls it is an error. */
static void nobody_else_can_call_it(void **state)
{
	const int64_t bounds[] = { 0, 3 };
	struct vt_db *db = open_with(three_rows);
	struct seen seen = { 0 };
	struct vt_stmt *stmt;

	(void)state;
	assert_int_equal(
		vt_db_scan(db, "id, value", "t WHERE id > ?1 AND id <= ?2", bounds, see, &seen), 0);
	stmt = vt_db_prepare(db, "SELECT vtrace_scan(id, value) FROM t");
	assert_null(stmt);
	assert_int_equal(seen.nr, 3);
	vt_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_by_id_within_the_bounds),
		cmocka_unit_test(no_rows_are_no_error),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(nobody_else_can_call_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
