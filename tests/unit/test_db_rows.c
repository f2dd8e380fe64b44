/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"

#define COLUMNS 12

/* What may not be NULL in the table. */
#define MAY_BE_NULL 0xfd0u

/* Numbers of every length, at both sides of where one more byte begins. */
static int64_t number(uint64_t index)
{
	uint64_t mixed = index * 0x9e3779b97f4a7c15ull;
	uint64_t power = 1ull << (mixed >> 8) % 64;

	switch (mixed % 5) {
	case 0:
		return (int64_t)power;
	case 1:
		return (int64_t)(power - 1);
	case 2:
		return -(int64_t)(power >> 1);
	case 3:
		return -(int64_t)(power >> 1) - 1;
	default:
		return (int64_t)(mixed >> (mixed >> 16) % 64);
	}
}

struct range {
	int64_t first_id;
	int64_t step;
};

static void fill(const void *argument, size_t index, struct vt_db_row *row)
{
	const struct range *range = argument;

	row->values[0] = range->first_id + range->step * (int64_t)index;
	for (unsigned int i = 1; i < COLUMNS; i++)
		row->values[i] = number((uint64_t)row->values[0] * COLUMNS + i);
	row->nulls = (uint32_t)number((uint64_t)row->values[0]) & MAY_BE_NULL;
}

static int append(struct vt_db *db, const struct range *range, size_t nr)
{
	return vt_db_append(db, "allocation_row", nr, fill, range);
}

/* The same rows, column by column. */
static int insert(struct vt_db *db, const struct range *range, size_t nr)
{
	struct vt_stmt *stmt =
		vt_db_prepare(db, "INSERT INTO allocation_row VALUES"
				  " (?,?,?,?,?,?,?,?,?,?,?,?)");
	struct vt_db_row row;
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++) {
		fill(range, i, &row);
		for (int c = 0; c < COLUMNS; c++)
			if (row.nulls >> c & 1)
				vt_stmt_bind_null(stmt, c + 1);
			else
				vt_stmt_bind_int(stmt, c + 1, row.values[c]);
		rc = vt_stmt_step(stmt);
	}
	vt_stmt_free(stmt);
	return rc;
}

static struct vt_db *make(const char *path)
{
	struct vt_db *db = NULL;

	assert_int_equal(vt_db_open(&db, path, VT_DB_CREATE, NULL), 0);
	return db;
}

/* Three transactions of each way, and the files are compared. */
static const struct {
	struct range range;
	size_t nr;
} parts[] = {
	{ { 1, 1 }, 1 },
	{ { 2, 3 }, 100000 }, /* two levels */
	{ { 1ll << 40, 1ll << 45 }, 2000 },
};

typedef int (*write_fn)(struct vt_db *db, const struct range *range, size_t nr);

static char *write_parts(const char *path, write_fn write, size_t *len)
{
	struct vt_db *db = make(path);
	char *bytes;
	FILE *file;

	for (size_t i = 0; i < VT_ARRAY_SIZE(parts); i++) {
		assert_int_equal(vt_db_begin(db), 0);
		if (write(db, &parts[i].range, parts[i].nr))
			fail_msg("%s", vt_db_error(db));
		assert_int_equal(vt_db_commit(db), 0);
	}
	unit_assert_text(db, "PRAGMA integrity_check", "ok");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	file = fopen(path, "re");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*len = (size_t)ftell(file);
	rewind(file);
	bytes = vt_xmalloc(*len);
	assert_int_equal(fread(bytes, 1, *len, file), *len);
	fclose(file);
	unlink(path);
	return bytes;
}

static void rows_at_once_are_the_rows_one_by_one(void **state)
{
	size_t appended_len, inserted_len;
	char *appended = write_parts("appended.db", append, &appended_len);
	char *inserted = write_parts("inserted.db", insert, &inserted_len);

	(void)state;
	assert_int_equal(appended_len, inserted_len);
	assert_memory_equal(appended, inserted, appended_len);
	free(appended);
	free(inserted);
}

static void what_is_rolled_back_leaves_nothing(void **state)
{
	struct vt_db *db = make("rolled.db");

	(void)state;
	assert_int_equal(vt_db_begin(db), 0);
	assert_int_equal(append(db, &(struct range){ 1, 1 }, 5000), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_row"), 5000);
	vt_db_rollback(db);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_row"), 0);
	assert_int_equal(vt_db_begin(db), 0);
	assert_int_equal(append(db, &(struct range){ 7, 1 }, 3), 0);
	assert_int_equal(vt_db_commit(db), 0);
	assert_int_equal(unit_int(db, "SELECT sum(id) FROM allocation_row"), 24);
	vt_db_close(db);
}

static void an_id_that_is_there_is_refused(void **state)
{
	struct vt_db *db = make("twice.db");

	(void)state;
	assert_int_equal(append(db, &(struct range){ 1, 1 }, 10), 0);
	assert_int_equal(append(db, &(struct range){ 10, 1 }, 10), -1);
	assert_non_null(strstr(vt_db_error(db), "allocation_row.id"));
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_row"), 10);
	assert_int_equal(vt_db_append(db, "allocation_row", 0, fill, NULL), 0);
	vt_db_close(db);
}

static void a_table_that_is_not_there_is_named(void **state)
{
	struct vt_db *db = make("absent.db");

	(void)state;
	assert_int_equal(vt_db_append(db, "nothing", 1, fill, &(struct range){ 1, 1 }), -1);
	if (!strstr(vt_db_error(db), "nothing"))
		fail_msg("%s", vt_db_error(db));
	vt_db_close(db);
}

/* As another program may have made it. */
static void a_table_with_more_columns_than_a_row_has_is_refused(void **state)
{
	struct vt_db *db = make("wide.db");
	char sql[64];

	(void)state;
	for (unsigned int i = COLUMNS; i <= VT_DB_IMAGE_COLUMNS; i++) {
		snprintf(sql, sizeof(sql), "ALTER TABLE allocation_row ADD COLUMN c%u INTEGER", i);
		assert_int_equal(vt_db_exec(db, sql), 0);
	}
	assert_int_equal(append(db, &(struct range){ 1, 1 }, 1), -1);
	vt_db_close(db);
}

static void one_writer_keeps_another_out(void **state)
{
	struct vt_db *first = make("held.db"), *second = NULL;

	(void)state;
	assert_int_equal(vt_db_open(&second, "held.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(second, "PRAGMA busy_timeout=0"), 0);
	/* With and without something attached. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vt_db_begin(first), 0);
		assert_int_equal(vt_db_begin(second), -1);
		assert_true(vt_db_is_busy(second));
		assert_int_equal(append(first, &(struct range){ 1 + 100 * i, 1 }, 50), 0);
		assert_int_equal(vt_db_commit(first), 0);
		assert_int_equal(vt_db_begin(second), 0);
		assert_int_equal(append(second, &(struct range){ 51 + 100 * i, 1 }, 50), 0);
		assert_int_equal(vt_db_commit(second), 0);
	}
	assert_int_equal(unit_int(first, "SELECT count(*) FROM allocation_row"), 200);
	vt_db_close(second);
	vt_db_close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_at_once_are_the_rows_one_by_one),
		cmocka_unit_test(what_is_rolled_back_leaves_nothing),
		cmocka_unit_test(an_id_that_is_there_is_refused),
		cmocka_unit_test(a_table_that_is_not_there_is_named),
		cmocka_unit_test(a_table_with_more_columns_than_a_row_has_is_refused),
		cmocka_unit_test(one_writer_keeps_another_out),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
