/* SPDX-License-Identifier: MIT */
/* Rows come in one way from a finished file and in another from all else: both must be the same. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/database/db_scan.h"

#define FILE_NAME "scan.db"

static const char *const columns[] = { "id", "b", "a" };

struct seen {
	VT_VECTOR(struct vt_db_row) rows;
	unsigned int nr_restarts;
};

static void take(void *context, const struct vt_db_row *row)
{
	vt_vector_push(&((struct seen *)context)->rows, *row);
}

static void restart(void *context)
{
	struct seen *seen = context;

	seen->rows.len = 0;
	seen->nr_restarts++;
}

static struct vt_scan scan_of(struct seen *seen, int64_t after, int64_t upto)
{
	return (struct vt_scan){ .table = "t",
				 .columns = columns,
				 .nr_columns = VT_ARRAY_SIZE(columns),
				 .after = after,
				 .upto = upto,
				 .take = take,
				 .restart = restart,
				 .context = seen };
}

/* A finished recording that has these tables as well. */
static struct vt_db *open_with(const char *sql)
{
	struct vt_db *db = NULL;

	unlink(FILE_NAME);
	assert_int_equal(vt_db_open(&db, FILE_NAME, VT_DB_CREATE, NULL), 0);
	assert_int_equal(vt_db_exec(db, sql), 0);
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, FILE_NAME, VT_DB_READ, NULL), 0);
	assert_int_equal(vt_db_exec(db, "BEGIN"), 0);
	return db;
}

static void assert_row(const struct vt_db_row *row, int64_t id, int64_t b, int64_t a,
		       uint32_t nulls)
{
	assert_int_equal(row->values[0], id);
	assert_int_equal(row->values[1], b);
	assert_int_equal(row->values[2], a);
	assert_int_equal(row->nulls, nulls);
}

/* All kinds of numbers; `skipped` is asked for by nobody. */
static const char numbers[] =
	"CREATE TABLE t (id INTEGER PRIMARY KEY, a, skipped, b, last);"
	"INSERT INTO t VALUES (9, 0, 'text', 1, 1), (-4, -1, NULL, NULL, 2),"
	" (2, 127, 1.5, -129, 3), (3, 9223372036854775807, 7, -9223372036854775807 - 1, 4),"
	" (300, 8388608, x'00', -2147483649, 'text'), (70000, 140737488355328, 0, 32767, NULL);";

/* The same, as they can be read from pages: behind the last that is asked for may be anything. */
static const char numbers_only[] =
	"CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, last);"
	"INSERT INTO t VALUES (9, 0, 1, 'text'), (-4, -1, NULL, 2), (2, 127, -129, 1.5),"
	" (3, 9223372036854775807, -9223372036854775807 - 1, 4),"
	" (300, 8388608, -2147483649, x'00'), (70000, 140737488355328, 32767, NULL)";

static void assert_numbers(struct seen *seen)
{
	assert_int_equal(seen->rows.len, 6);
	assert_row(&seen->rows.items[0], -4, 0, -1, 1u << 1);
	assert_row(&seen->rows.items[1], 2, -129, 127, 0);
	assert_row(&seen->rows.items[2], 3, INT64_MIN, INT64_MAX, 0);
	assert_row(&seen->rows.items[3], 9, 1, 0, 0);
	assert_row(&seen->rows.items[4], 300, -2147483649, 8388608, 0);
	assert_row(&seen->rows.items[5], 70000, 32767, 140737488355328, 0);
	vt_vector_release(&seen->rows);
}

static void numbers_are_read_from_pages(void **state)
{
	struct vt_db *db = open_with(numbers_only);
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

	(void)state;
	assert_int_equal(vt_db_pages_scan(db, &scan), 0);
	assert_int_equal(seen.nr_restarts, 0);
	assert_numbers(&seen);
	vt_db_close(db);
}

static void what_is_no_number_is_left_to_sqlite(void **state)
{
	struct vt_db *db = open_with(numbers);
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

	(void)state;
	assert_int_equal(vt_db_pages_scan(db, &scan), 1);
	assert_int_equal(vt_db_scan(db, &scan), 0);
	assert_int_equal(seen.nr_restarts, 1);
	assert_numbers(&seen);
	vt_db_close(db);
}

/* What `take` would pass over: pages give it all the same. */
static void sqlite_may_leave_out_what_is_passed_over(void **state)
{
	static const char *const tables[] = { numbers, numbers_only };

	(void)state;
	for (int is_of_pages = 0; is_of_pages < 2; is_of_pages++) {
		struct vt_db *db = open_with(tables[is_of_pages]);
		struct seen seen = { 0 };
		struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

		scan.unless_passed_over = "b IN (1, 32767) OR b IS NULL";
		assert_int_equal(vt_db_scan(db, &scan), 0);
		if (is_of_pages) {
			assert_numbers(&seen);
		} else {
			assert_int_equal(seen.rows.len, 3);
			assert_row(&seen.rows.items[0], -4, 0, -1, 1u << 1);
			assert_row(&seen.rows.items[1], 9, 1, 0, 0);
			assert_row(&seen.rows.items[2], 70000, 32767, 140737488355328, 0);
			vt_vector_release(&seen.rows);
		}
		vt_db_close(db);
	}
}

static void assert_left_to_sqlite(struct vt_db *db, const char *why)
{
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

	if (!vt_db_pages_scan(db, &scan))
		fail_msg("%s", why);
	vt_vector_release(&seen.rows);
}

static void what_may_change_is_left_to_sqlite(void **state)
{
	struct vt_db *db = open_with(numbers_only), *reader = NULL;

	(void)state;
	assert_int_equal(vt_db_exec(db, "COMMIT"), 0);
	assert_left_to_sqlite(db, "no transaction");
	assert_int_equal(vt_db_exec(db, "BEGIN; CREATE TEMP VIEW t AS SELECT 1 AS id"), 0);
	assert_left_to_sqlite(db, "a view before it");
	vt_db_close(db);
	db = NULL;
	assert_int_equal(vt_db_open_memory(&db, "memory", NULL), 0);
	assert_int_equal(vt_db_exec(db, numbers_only), 0);
	assert_int_equal(vt_db_exec(db, "BEGIN"), 0);
	assert_left_to_sqlite(db, "in memory");
	vt_db_close(db);
	db = NULL;
	/* Rows may be in the log of one that writes. */
	vt_db_close(open_with(numbers_only));
	assert_int_equal(vt_db_open(&db, FILE_NAME, VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, "UPDATE t SET a = 1"), 0);
	assert_int_equal(vt_db_open_again(&reader, db, NULL), 0);
	assert_int_equal(vt_db_exec(reader, "BEGIN"), 0);
	assert_left_to_sqlite(reader, "a log");
	vt_db_close(reader);
	vt_db_close(db);
}

static void what_is_no_such_table_is_left_to_sqlite(void **state)
{
	static const char *const tables[] = {
		"CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
		"CREATE TABLE t (id, a, b); INSERT INTO t VALUES (1, 2, 3)",
		"CREATE TABLE t (id INT PRIMARY KEY, a, b) WITHOUT ROWID;"
		" INSERT INTO t VALUES (1, 2, 3)",
		/* No other name of the table's key. */
		"CREATE TABLE t (id INTEGER PRIMARY KEY DESC, a, b); INSERT INTO t VALUES (7, 2, "
		"3)",
		"CREATE TABLE t (id INTEGER, a, b, PRIMARY KEY (id, a)); INSERT INTO t VALUES (7, "
		"2, 3)",
		/* Rows that are older than a column have what its definition says. */
		"CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 8);"
		" ALTER TABLE t ADD COLUMN b DEFAULT 7",
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(tables); i++) {
		struct vt_db *db = open_with(tables[i]);

		assert_left_to_sqlite(db, tables[i]);
		vt_db_close(db);
	}
}

static int put_byte(long offset, int byte)
{
	FILE *file = fopen(FILE_NAME, "r+e");
	int before;

	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	before = fgetc(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fputc(byte, file), byte);
	assert_int_equal(fclose(file), 0);
	return before;
}

/* SQLite reads a log beside a file even if the header says that there is none. */
static void a_log_that_lies_beside_is_no_news_to_pages(void **state)
{
	struct vt_db *db = open_with(numbers_only), *reader = NULL;
	char *log;

	(void)state;
	vt_db_close(db);
	db = NULL;
	/* A log with rows, as a writer leaves it that was killed. */
	assert_int_equal(vt_db_open(&db, FILE_NAME, VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, "UPDATE t SET a = 77"), 0);
	assert_int_equal(system("cp " FILE_NAME "-wal kept-wal && cp " FILE_NAME " kept.db"), 0);
	vt_db_close(db);
	log = vt_xasprintf("cp kept.db %s && cp kept-wal %s-wal", FILE_NAME, FILE_NAME);
	assert_int_equal(system(log), 0);
	free(log);
	/* The versions of a file without a log. */
	put_byte(18, 1);
	put_byte(19, 1);
	assert_int_equal(vt_db_open(&reader, FILE_NAME, VT_DB_READ, NULL), 0);
	assert_int_equal(vt_db_exec(reader, "BEGIN"), 0);
	assert_int_equal(unit_int(reader, "SELECT min(a) FROM t"), 77);
	assert_left_to_sqlite(reader, "a log beside it");
	vt_db_close(reader);
	unlink(FILE_NAME "-wal");
	unlink(FILE_NAME "-shm");
}

/* Three levels of pages, and an index in another order. */
static const char many_rows[] =
	"CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);"
	"CREATE INDEX odd ON t (b, a, id);"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
	" INSERT INTO t SELECT i * 3, i * 1000003 % 700001, -i FROM n";

static void assert_range(struct vt_db *db, int64_t after, int64_t upto)
{
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, after, upto);
	int64_t first = (after < 0 ? 0 : after / 3) + 1, last = upto / 3;

	last = last > 300000 ? 300000 : last;
	assert_int_equal(vt_db_pages_scan(db, &scan), 0);
	assert_int_equal(seen.rows.len, last >= first ? last - first + 1 : 0);
	for (size_t k = 0; k < seen.rows.len; k++) {
		int64_t i = first + (int64_t)k;

		assert_row(&seen.rows.items[k], 3 * i, -i, i * 1000003 % 700001, 0);
	}
	vt_vector_release(&seen.rows);
}

static void ranges_come_by_id(void **state)
{
	struct vt_db *db = open_with(many_rows);

	(void)state;
	assert_range(db, INT64_MIN, INT64_MAX);
	assert_range(db, INT64_MIN, 450000);
	assert_range(db, 450000, INT64_MAX);
	assert_range(db, 449998, 450002);
	assert_range(db, 7, 7);
	assert_range(db, 900000, INT64_MAX);
	for (int64_t id = 0; id < 900000; id += 903)
		assert_range(db, id, id + 6);
	vt_db_close(db);
}

/* One byte of the table's pages, or of the file's head, is another. */
static int scan_damaged(struct vt_db *db, long offset, int byte)
{
	int before = put_byte(offset, byte), rc;
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

	rc = vt_db_pages_scan(db, &scan);
	for (size_t i = 1; i < seen.rows.len; i++)
		assert_true(seen.rows.items[i - 1].values[0] < seen.rows.items[i].values[0]);
	vt_vector_release(&seen.rows);
	put_byte(offset, before);
	return rc;
}

/* What comes back is rows in order or a refusal, and memory is left alone. */
static void damaged_pages_do_no_harm(void **state)
{
	struct vt_db *db = open_with(
		"CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
		" FROM n WHERE i < 900) INSERT INTO t SELECT i, i, i FROM n");
	long page_bytes = (long)vt_db_query_int(db, "PRAGMA page_size", 0);
	long nr_pages = (long)vt_db_query_int(db, "PRAGMA page_count", 0);
	unsigned int nr_refused = 0, nr = 3000;
	uint32_t random = 1;

	(void)state;
	for (unsigned int i = 0; i < nr; i++) {
		long page, offset;

		random = random * 1664525 + 1013904223;
		page = i % 10 ? nr_pages - 1 - (long)(random / 7 % 3) : 0;
		offset = (long)(random >> 8) % (i % 2 ? 24 : page_bytes);
		nr_refused += (unsigned int)scan_damaged(db, page * page_bytes + offset,
							 (int)(random >> 24));
	}
	assert_true(nr_refused > nr / 20);
	assert_true(nr_refused < nr);
	vt_db_close(db);
}

static void what_cannot_be_read_is_said(void **state)
{
	struct vt_db *db = open_with("CREATE TABLE other (id INTEGER PRIMARY KEY)");
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

	(void)state;
	assert_int_equal(vt_db_scan(db, &scan), -1);
	assert_non_null(strstr(vt_db_error(db), "no such table: t"));
	vt_db_close(db);
}

/* A file's view that calls what we call would run it with another query's rows. */
static void the_function_is_for_our_query_only(void **state)
{
	struct vt_db *db = open_with(numbers);
	struct seen seen = { 0 };
	struct vt_scan scan = scan_of(&seen, INT64_MIN, INT64_MAX);

	(void)state;
	assert_int_equal(vt_db_scan(db, &scan), 0);
	assert_null(vt_db_prepare(db, "SELECT vtrace_scan(id) FROM t"));
	vt_vector_release(&seen.rows);
	vt_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_from_pages),
		cmocka_unit_test(what_is_no_number_is_left_to_sqlite),
		cmocka_unit_test(sqlite_may_leave_out_what_is_passed_over),
		cmocka_unit_test(what_may_change_is_left_to_sqlite),
		cmocka_unit_test(what_is_no_such_table_is_left_to_sqlite),
		cmocka_unit_test(a_log_that_lies_beside_is_no_news_to_pages),
		cmocka_unit_test(ranges_come_by_id),
		cmocka_unit_test(damaged_pages_do_no_harm),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(the_function_is_for_our_query_only),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
