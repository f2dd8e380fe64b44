/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/import/import.h"
#include "analyzer/import/import_rows.h"
#include "analyzer/import/journal_reader.h"
#include "analyzer/base/util.h"
#include "tests/lib/sample_journal.h"

static uint64_t count_records(const struct builder *b)
{
	struct vt_journal_reader reader;
	uint64_t n = 0;

	vt_journal_reader_init(&reader, 0);
	reader.is_writer_dead = 1;
	vt_journal_reader_feed(&reader, builder_slots(b), b->nr_slots);
	while (vt_journal_reader_next(&reader))
		n++;
	return n;
}

/* One import object that takes `max_records` and is gone then, as after SIGKILL. */
static int64_t import_some(struct builder *b, const char *path, uint64_t max_records)
{
	struct vt_db *db = NULL;
	struct vt_import *im = NULL;
	int64_t taken;

	assert_int_equal(
		vt_db_open(&db, path, access(path, F_OK) ? VT_DB_CREATE : VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_import_open(&im, db, builder_header(b), NULL), 0);
	taken = vt_import_batch(im, builder_header(b), builder_slots(b), b->nr_slots, 1,
				max_records, NULL);
	vt_import_close(im);
	vt_db_close(db);
	return taken;
}

static char *dump_of(struct vt_db *db)
{
	char *text = unit_dump(db);

	vt_db_close(db);
	return text;
}

static void assert_same(const char *expected, const char *text, uint64_t cut)
{
	size_t at = 0;

	if (!strcmp(expected, text))
		return;
	while (expected[at] == text[at])
		at++;
	while (at && expected[at - 1] != '\n')
		at--;
	fail_msg("cut after record %llu:\nexpected %.200s\ngot      %.200s",
		 (unsigned long long)cut, expected + at, text + at);
}

static void a_cut_at_any_record_gives_the_same_database(void **state)
{
	struct builder b;
	uint64_t nr_records;
	char *expected;

	(void)state;
	builder_init(&b);
	sample_journal(&b);
	nr_records = count_records(&b);
	assert_true(nr_records > 70);
	expected = dump_of(unit_import(&b, "whole.db"));
	for (uint64_t cut = 1; cut < nr_records; cut++) {
		char *path = vt_xasprintf("cut-%llu.db", (unsigned long long)cut);
		char *text;

		import_some(&b, path, cut);
		text = dump_of(unit_import(&b, path));
		assert_same(expected, text, cut);
		free(text);
		unlink(path);
		free(path);
	}
	free(expected);
	builder_release(&b);
}

static void an_import_that_is_killed_at_every_record_gives_the_same_database(void **state)
{
	struct builder b;
	char *expected, *text;

	(void)state;
	builder_init(&b);
	sample_journal(&b);
	expected = dump_of(unit_import(&b, "whole-2.db"));
	while (import_some(&b, "steps.db", 1) > 0)
		;
	text = dump_of(unit_import(&b, "steps.db"));
	assert_same(expected, text, 1);
	free(text);
	free(expected);
	builder_release(&b);
}

static void batches_of_any_size_give_the_same_database(void **state)
{
	struct builder b;
	char *expected, *text;

	(void)state;
	builder_init(&b);
	sample_journal(&b);
	expected = dump_of(unit_import(&b, "whole-3.db"));
	for (uint64_t size = 1; size < 20; size++) {
		vt_db_close(unit_import_slots(builder_header(&b), builder_slots(&b), b.nr_slots,
					      size, "batches.db"));
		text = dump_of(unit_import(&b, "batches.db"));
		assert_same(expected, text, size);
		free(text);
		unlink("batches.db");
	}
	free(expected);
	builder_release(&b);
}

/*
 * A prefix of the journal gives a prefix of the events: the same rows, but for ends that came
 * later.
 */
static void a_prefix_gives_a_prefix_of_the_events(void **state)
{
	static const char sql[] =
		"SELECT group_concat(event || ':' || op || ':' || address, ' ')"
		" FROM (SELECT * FROM every_event WHERE op IN (1, 6, 7, 8) ORDER BY event)";
	struct vt_stmt *stmt;
	struct builder b;
	struct vt_db *db;
	char *all;

	(void)state;
	builder_init(&b);
	sample_journal(&b);
	db = unit_import(&b, "prefix-all.db");
	stmt = vt_db_prepare(db, sql);
	vt_stmt_step(stmt);
	all = vt_xstrdup(vt_stmt_text(stmt, 0));
	vt_db_close(db);
	for (uint64_t slots = 0; slots < b.nr_slots; slots += 3) {
		db = unit_import_slots(builder_header(&b), builder_slots(&b), slots, UINT64_MAX,
				       "prefix.db");
		stmt = vt_db_prepare(db, sql);
		assert_int_equal(vt_stmt_step(stmt), 1);
		if (!vt_stmt_is_null(stmt, 0))
			assert_memory_equal(all, vt_stmt_text(stmt, 0),
					    (size_t)vt_stmt_text_len(stmt, 0));
		vt_db_close(db);
		unlink("prefix.db");
	}
	free(all);
	builder_release(&b);
}

/* One more row than there is, whose numbers cannot be had: what a read error looks like. */
static void make_unreadable(struct vt_db *db, const char *table)
{
	char *sql = vt_xasprintf(
		"ALTER TABLE %s RENAME TO whole; CREATE VIEW %s AS"
		" SELECT * FROM whole UNION ALL SELECT"
		" abs(-9223372036854775808)%s",
		table, table,
		!strcmp(table, "allocation_made")    ? ",1,2,3,4,5,6,7,8,9,10,11"
		: !strcmp(table, "allocation_freed") ? ",1,2,3,4,5,6,7,8"
		: !strcmp(table, "allocation_base")  ? ",1,2,3,4"
						     : ",1,2");

	assert_int_equal(vt_db_exec(db, sql), 0);
	free(sql);
}

static struct vt_db *begin_import(struct builder *b)
{
	struct vt_db *db = NULL;

	builder_init(b);
	sample_journal(b);
	unlink("unreadable.db"); /* of a test that failed */
	import_some(b, "unreadable.db", 60);
	assert_int_equal(vt_db_open(&db, "unreadable.db", VT_DB_WRITE, NULL), 0);
	return db;
}

static void end_import(struct builder *b, struct vt_db *db)
{
	vt_db_close(db);
	unlink("unreadable.db");
	builder_release(b);
}

static void what_cannot_be_read_is_not_taken_for_its_end(void **state)
{
	static const char *const tables[] = { "allocation_made", "allocation_freed",
					      "allocation_callers", "allocation_base",
					      "allocator_reserved" };

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(tables); i++) {
		struct vt_import_rows rows;
		struct builder b;
		struct vt_db *db = begin_import(&b);

		assert_int_equal(vt_import_rows_init(&rows, db), 0);
		vt_import_rows_release(&rows);
		make_unreadable(db, tables[i]);
		assert_int_equal(vt_import_rows_init(&rows, db), -1);
		vt_import_rows_release(&rows);
		end_import(&b, db);
	}
}

static void an_import_that_cannot_read_where_it_was_does_not_go_on(void **state)
{
	struct vt_import *im = NULL;
	struct vt_diag diag = { 0 };
	struct builder b;
	struct vt_db *db = begin_import(&b);

	(void)state;
	/* Nothing else reads this table. */
	make_unreadable(db, "allocator_reserved");
	assert_int_equal(vt_import_open(&im, db, builder_header(&b), &diag), -1);
	assert_non_null(strstr(diag.text, "the journal is kept"));
	vt_import_close(im);
	end_import(&b, db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_at_any_record_gives_the_same_database),
		cmocka_unit_test(an_import_that_is_killed_at_every_record_gives_the_same_database),
		cmocka_unit_test(batches_of_any_size_give_the_same_database),
		cmocka_unit_test(a_prefix_gives_a_prefix_of_the_events),
		cmocka_unit_test(what_cannot_be_read_is_not_taken_for_its_end),
		cmocka_unit_test(an_import_that_cannot_read_where_it_was_does_not_go_on),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
