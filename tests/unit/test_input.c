/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/input/input.h"
#include "tests/lib/sample_journal.h"

static int exists(const char *path)
{
	return !access(path, F_OK);
}

static void assert_refused(const char *path, const char *why)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;

	assert_int_equal(vt_input_open(path, &db, &diag), -1);
	assert_int_equal(diag.exit_code, 3);
	if (!strstr(diag.text, why) || strchr(diag.text, '\n'))
		fail_msg("%s", diag.text);
}

static void write_journal(const char *path)
{
	struct builder b;

	builder_init(&b);
	sample_journal(&b);
	builder_write(&b, path);
	builder_release(&b);
}

static void a_journal_is_imported_by_any_of_its_names(void **state)
{
	static const char *const names[] = { "run", "run.db", "run.journal" };
	struct vt_db *db = NULL;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct vt_diag diag = { 0 };

		write_journal("run.journal");
		if (vt_input_open(names[i], &db, &diag))
			fail_msg("%s", diag.text);
		unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "exit 0");
		assert_string_equal(vt_db_path(db), "run.db");
		vt_db_close(db);
		assert_false(exists("run.journal"));
		assert_false(exists("run.db-wal"));
		/* And again, from the database. */
		assert_int_equal(vt_input_open(names[i], &db, &diag), 0);
		vt_db_close(db);
		unlink("run.db");
	}
}

static void a_database_of_another_name_is_read(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	write_journal("first.journal");
	assert_int_equal(vt_input_open("first", &db, NULL), 0);
	vt_db_close(db);
	assert_int_equal(rename("first.db", "renamed.sqlite"), 0);
	assert_int_equal(vt_input_open("renamed.sqlite", &db, NULL), 0);
	vt_db_close(db);
}

static void bad_journals_are_refused_and_kept(void **state)
{
	struct builder b;
	struct stat st;

	(void)state;
	assert_refused("absent.db", "No such file");
	assert_refused("absent.journal", "No such file");

	fclose(fopen("empty.journal", "we"));
	assert_refused("empty.journal", "empty");
	assert_true(exists("empty.journal"));
	assert_false(exists("empty.db"));

	builder_init(&b);
	sample_journal(&b);
	builder_header(&b)->version = 8;
	builder_header(&b)->minimum_reader = 7;
	builder_write(&b, "newer.journal");
	assert_refused("newer", "for readers from 7");
	assert_false(exists("newer.db"));
	builder_header(&b)->minimum_reader = 1;
	builder_header(&b)->slot_bytes = 63;
	builder_write(&b, "damaged.journal");
	assert_refused("damaged", "damaged");
	builder_header(&b)->magic = 1;
	builder_write(&b, "foreign.journal");
	assert_refused("foreign", "not a vtrace journal");
	assert_int_equal(stat("foreign.journal", &st), 0);
	assert_int_equal(st.st_size, builder_bytes(&b));

	/* A header page of zeros: the recorder was stopped before it wrote it. */
	assert_int_equal(truncate("foreign.journal", 0) || truncate("foreign.journal", 8192), 0);
	assert_refused("foreign", "empty");
	builder_release(&b);
}

static void another_runs_database_keeps_its_journal_beside_it(void **state)
{
	struct vt_db *db = NULL;
	struct builder b;

	(void)state;
	write_journal("both.journal");
	assert_int_equal(vt_input_open("both", &db, NULL), 0);
	vt_db_close(db);
	builder_init(&b);
	builder_header(&b)->start_realtime_ns++;
	builder_alloc(&b, VT_KIND_BLOCK, 1, 1);
	builder_write(&b, "both.journal");
	assert_refused("both", "another run");
	assert_true(exists("both.journal"));
	builder_release(&b);
}

/* The collector of a living program holds the journal: what is there so far is read. */
static void a_living_programs_database_is_read_as_it_is(void **state)
{
	struct vt_db *db = NULL;
	struct builder b;
	FILE *holder;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 1, 1);
	builder_header(&b)->pid = (uint32_t)getpid();
	builder_header(&b)->process_start_ticks = 0;
	vt_db_close(unit_import_slots(builder_header(&b), builder_slots(&b), b.nr_slots, 10,
				      "live.db"));
	builder_write(&b, "live.journal");
	holder = fopen("live.journal", "re");
	assert_int_equal(flock(fileno(holder), LOCK_EX), 0);

	assert_int_equal(vt_input_open("live", &db, NULL), 0);
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "running");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 1);
	vt_db_close(db);
	assert_true(exists("live.journal"));
	fclose(holder);
	builder_release(&b);
}

/*
 * Its collector was killed: the command imports what is there, and leaves the journal to the
 * program.
 */
static void a_living_program_without_collector_is_imported_so_far(void **state)
{
	struct vt_db *db = NULL;
	struct builder b;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 1, 1);
	builder_header(&b)->pid = (uint32_t)getpid();
	builder_header(&b)->process_start_ticks = 0;
	builder_write(&b, "orphan.journal");
	assert_int_equal(vt_input_open("orphan", &db, NULL), 0);
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "running");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 1);
	vt_db_close(db);
	assert_true(exists("orphan.journal"));
	builder_release(&b);
}

#define PATIENCE 5

/* An importer of a dead program's journal, of which something is seen at each look at it. */
struct importer {
	FILE *holder;
	uint64_t imported_slots;
	unsigned looks, moves_at; /* at every look of that many, 0: never */
	unsigned ends_at;         /* 0: never */
};

static void take_one_look(void *context)
{
	struct importer *importer = context;

	importer->looks++;
	if (importer->moves_at && importer->looks % importer->moves_at == 0) {
		importer->imported_slots++;
		assert_int_equal(pwrite(fileno(importer->holder), &importer->imported_slots,
					sizeof(importer->imported_slots),
					offsetof(struct vt_journal_header, imported_slots)),
				 sizeof(importer->imported_slots));
	}
	if (importer->looks == importer->ends_at)
		assert_int_equal(flock(fileno(importer->holder), LOCK_UN), 0);
}

/* However long it takes, as long as it gets on. */
static void an_importer_that_gets_on_is_waited_for(void **state)
{
	static const struct {
		unsigned moves_at, ends_at;
		int rc;
		unsigned looks;
	} cases[] = {
		{ 0, 0, -1, PATIENCE },
		{ 0, PATIENCE - 1, 1, PATIENCE - 1 },
		{ 1, 10 * PATIENCE, 1, 10 * PATIENCE },
		{ PATIENCE, 10 * PATIENCE + 1, 1, 10 * PATIENCE + 1 },
		{ PATIENCE + 1, 10 * PATIENCE, -1, PATIENCE },
	};

	(void)state;
	write_journal("dead.journal");
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct importer importer = { .holder = fopen("dead.journal", "r+e"),
					     .moves_at = cases[i].moves_at,
					     .ends_at = cases[i].ends_at };
		const struct vt_input_patience patience = { PATIENCE, take_one_look, &importer };
		struct vt_diag diag = { 0 };

		assert_int_equal(flock(fileno(importer.holder), LOCK_EX), 0);
		assert_int_equal(vt_input_wait("dead.journal", "dead.db", &patience, &diag),
				 cases[i].rc);
		assert_int_equal(importer.looks, cases[i].looks);
		assert_int_equal(!strstr(diag.text, "makes no progress"), cases[i].rc != -1);
		fclose(importer.holder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_journal_is_imported_by_any_of_its_names),
		cmocka_unit_test(a_database_of_another_name_is_read),
		cmocka_unit_test(bad_journals_are_refused_and_kept),
		cmocka_unit_test(another_runs_database_keeps_its_journal_beside_it),
		cmocka_unit_test(a_living_programs_database_is_read_as_it_is),
		cmocka_unit_test(a_living_program_without_collector_is_imported_so_far),
		cmocka_unit_test(an_importer_that_gets_on_is_waited_for),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
