/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/process.h"
#include "analyzer/base/util.h"
#include "tests/lib/allocations_sql.h"
#include "common/kinds.h"

static void make(const char *path)
{
	struct vt_db *db = NULL;

	assert_int_equal(vt_db_open(&db, path, VT_DB_CREATE, NULL), 0);
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
}

static void assert_refused(const char *path, const char *why)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;

	assert_int_equal(vt_db_open(&db, path, VT_DB_READ, &diag), -1);
	assert_null(db);
	assert_int_equal(diag.exit_code, 3);
	assert_non_null(strstr(diag.text, path));
	if (!strstr(diag.text, why))
		fail_msg("%s", diag.text);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static size_t count_files(const char *pattern)
{
	glob_t found = { 0 };
	size_t count;

	glob(pattern, 0, NULL, &found);
	count = found.gl_pathc;
	globfree(&found);
	return count;
}

static void a_new_database_has_the_schema_and_the_words(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("new.db");
	assert_int_equal(vt_db_open(&db, "new.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "PRAGMA application_id"), VT_DB_APPLICATION_ID);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	unit_assert_text(db, "SELECT name FROM operation WHERE id = 3", "free_failed");
	unit_assert_text(db, "SELECT name FROM memory_kind WHERE id = 3", "vmm");
	unit_assert_text(db, "SELECT name FROM mark_source WHERE id = 2", "nvtx");
	unit_assert_text(db, "SELECT name FROM function WHERE id = 1", "cuMemAlloc_v2");
	unit_assert_text(db, "SELECT name FROM function WHERE id = 101", "c10_reportOutOfMemory");
	/* The views can be compiled. */
	assert_int_equal(unit_int(db, "SELECT count(*) FROM driver_event"), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM live_at"), 0);
	vt_db_close(db);
}

static void what_exists_is_never_replaced(void **state)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	char text[16] = "";
	FILE *file;

	(void)state;
	write_file("precious.db", "mine");
	assert_int_equal(vt_db_open(&db, "precious.db", VT_DB_CREATE, &diag), -1);
	assert_int_equal(diag.exit_code, 3);
	file = fopen("precious.db", "re");
	assert_int_equal(fread(text, 1, sizeof(text), file), 4);
	fclose(file);
	assert_string_equal(text, "mine");
	assert_int_equal(count_files("precious.db*"), 1);
}

static void a_neighbour_with_the_name_of_a_draft_is_not_touched(void **state)
{
	char text[16] = "";
	FILE *file;

	(void)state;
	write_file("drafted.db.new", "mine");
	make("drafted.db");
	file = fopen("drafted.db.new", "re");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 4);
	fclose(file);
	assert_string_equal(text, "mine");
	unlink("drafted.db.new");
	unlink("drafted.db");
	assert_int_equal(count_files("drafted.db*"), 0);
}

static void what_a_killed_creator_left_goes_with_the_next(void **state)
{
	/* No process has such a number: they end at 2^22. */
	char *left = vt_xasprintf("left.db.999999999-%08x.part", vt_process_home());

	(void)state;
	write_file(left, "half");
	make("left.db");
	assert_int_not_equal(access(left, F_OK), 0);
	free(left);
}

static void bad_files_are_refused_by_name(void **state)
{
	struct vt_db *db = NULL;
	struct stat st;

	(void)state;
	alarm(20); /* a pipe without a writer is waited for by who opens it plainly */
	assert_refused("absent.db", "No such file");
	write_file("foreign.db",
		   "once upon a time there was a file that was longer than a hundred"
		   " bytes, and still no database of ours, nor of anybody else.........");
	assert_refused("foreign.db", "not a vtrace database");
	write_file("empty.db", "");
	assert_refused("empty.db", "empty");
	assert_int_equal(mkfifo("pipe.db", 0600), 0);
	assert_refused("pipe.db", "not a regular file");
	mkdir("folder.db", 0777);
	assert_refused("folder.db", "directory");

	make("short.db");
	assert_int_equal(stat("short.db", &st), 0);
	assert_int_equal(truncate("short.db", st.st_size - 4096), 0);
	assert_refused("short.db", "truncated");
	assert_int_equal(truncate("short.db", 50), 0);
	assert_refused("short.db", "not a vtrace database");

	make("newer.db");
	assert_int_equal(vt_db_open(&db, "newer.db", VT_DB_WRITE, NULL), 0);
	vt_db_exec(db, "PRAGMA user_version=99");
	vt_db_make_single_file(db);
	vt_db_close(db);
	assert_refused("newer.db", "schema 99");
}

/* Made as a database of the ninth schema was; then what later ones added is taken away. */
static void take_away(struct vt_db *db, const char *sql)
{
	assert_int_equal(vt_db_exec(db, vt_embedded_older_allocations), 0);
	assert_int_equal(vt_db_exec(db, sql), 0);
}

#define TAKE_AWAY_9 "DROP TABLE warning;"
#define TAKE_AWAY_8 TAKE_AWAY_9 "DROP TABLE period; DROP TABLE period_peak;"
#define TAKE_AWAY_7 TAKE_AWAY_8 "ALTER TABLE out_of_memory DROP COLUMN forward_python_stack;"
#define TAKE_AWAY_6 TAKE_AWAY_7 "DROP TABLE python_source;"
#define TAKE_AWAY_5 TAKE_AWAY_6 "DROP TABLE operator; DROP TABLE operator_tensor;"
#define TAKE_AWAY_4                                                                                \
	"ALTER TABLE allocation DROP COLUMN grad;"                                                 \
	"ALTER TABLE allocation DROP COLUMN freed_grad;"                                           \
	"ALTER TABLE out_of_memory DROP COLUMN grad;"
#define TAKE_AWAY_3                                                                                \
	"DROP TABLE allocation_parent;"                                                            \
	"ALTER TABLE allocation DROP COLUMN requested_bytes;"                                      \
	"ALTER TABLE out_of_memory DROP COLUMN stream;"

static void make_first_schema(const char *path)
{
	struct vt_db *db = NULL;

	make(path);
	assert_int_equal(vt_db_open(&db, path, VT_DB_WRITE, NULL), 0);
	take_away(db,
		"DROP TABLE probe; DROP TABLE tensor; DROP TABLE torch_module;"
		"DROP TABLE tensor_role; DROP TABLE device_sample;"
		"DELETE FROM operation WHERE id > 19;"
		TAKE_AWAY_5 TAKE_AWAY_4 TAKE_AWAY_3
		"ALTER TABLE allocation DROP COLUMN forward_python_stack;"
		"ALTER TABLE allocation DROP COLUMN freed_forward_python_stack;"
		"INSERT INTO allocation (id, kind, device, address, size_bytes, stream, function,"
		" thread, time_ns, allocated_bytes, reserved_bytes)"
		" VALUES (1,2,0,4096,512,0,1,1,0,0,0);"
		"PRAGMA user_version=1");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
}

static void a_first_schema_is_read_as_it_is(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make_first_schema("first.db");
	assert_int_equal(vt_db_open(&db, "first.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM tensor"), 0);
	assert_int_equal(unit_int(db, "SELECT size_bytes FROM allocation"
				      " WHERE forward_python_stack IS NULL"), 512);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), 1);
	vt_db_close(db);
}

static void a_first_schema_is_completed_by_a_writer(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make_first_schema("going-on.db");
	assert_int_equal(vt_db_open(&db, "going-on.db", VT_DB_WRITE, NULL), 0);
	/* The words that its views need, also those that are younger than the file. */
	unit_assert_text(db, "SELECT name FROM tensor_role WHERE id = 10", "held");
	unit_assert_text(db, "SELECT name FROM operation WHERE id = 24", "unload");
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "going-on.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"
				      " WHERE freed_forward_python_stack IS NULL"), 1);
	vt_db_close(db);
}

static void a_second_schema_is_read_and_completed(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("second.db");
	assert_int_equal(vt_db_open(&db, "second.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_5 TAKE_AWAY_4 TAKE_AWAY_3 "PRAGMA user_version=2");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "second.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_parent"), 0);
	assert_int_equal(unit_int(db, "SELECT count(requested_bytes) FROM allocation"), 0);
	assert_int_equal(unit_int(db, "SELECT count(stream) FROM out_of_memory"), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "second.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, "UPDATE allocation_row SET rounding_bytes = 1"), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

static void a_third_schema_is_read_and_completed(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("third.db");
	assert_int_equal(vt_db_open(&db, "third.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_5 TAKE_AWAY_4 "PRAGMA user_version=3");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "third.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(grad) + count(freed_grad) FROM allocation"), 0);
	assert_int_equal(unit_int(db, "SELECT count(grad) FROM out_of_memory"), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM python_source"), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "third.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(freed_grad) FROM allocation"), 0);
	assert_int_equal(vt_db_exec(db, "INSERT INTO python_source VALUES ('a', 1, 0, '3')"), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

static void a_fifth_schema_is_read_and_completed(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("fifth.db");
	assert_int_equal(vt_db_open(&db, "fifth.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_6 "PRAGMA user_version=5");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "fifth.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM python_source"), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "fifth.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, "INSERT INTO python_source VALUES ('a', 1, 0, '3')"), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

static void a_sixth_schema_is_read_and_completed(void **state)
{
	static const char sql[] = "SELECT count(forward_python_stack) FROM out_of_memory";
	struct vt_db *db = NULL;

	(void)state;
	make("sixth.db");
	assert_int_equal(vt_db_open(&db, "sixth.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_7 "PRAGMA user_version=6");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "sixth.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, sql), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "sixth.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(unit_int(db, sql), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

static void a_seventh_schema_is_read_and_completed(void **state)
{
	static const char sql[] = "SELECT count(*) FROM period JOIN period_peak ON period = id";
	struct vt_db *db = NULL;

	(void)state;
	make("seventh.db");
	assert_int_equal(vt_db_open(&db, "seventh.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_8 "PRAGMA user_version=7");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "seventh.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, sql), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "seventh.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(unit_int(db, sql), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

static void an_eighth_schema_is_read_and_completed(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("eighth.db");
	assert_int_equal(vt_db_open(&db, "eighth.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_9 "PRAGMA user_version=8");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "eighth.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM warning"), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "eighth.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

/* Frees of all sorts and two of the same place. */
static const char nine_rows[] =
	"INSERT INTO allocation VALUES"
	" (1,1,0,4096,512,7,100,1,10,3,4,5,6,7,8,512,4096,3,30,1,101,3,4,5,6,7,4,4,500,1,2),"
	" (2,2,-1,8192,512,0,100,2,20,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,NULL,"
	"NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),"
	" (4,1,0,4608,1024,7,100,1,40,3,4,5,6,9,8,1024,4096,6,60,1,101,3,4,5,6,9,4,4,1000,1,2),"
	" (5,1,0,5120,1024,7,100,1,50,3,4,5,6,9,8,1024,4096,5,50,1,101,NULL,NULL,NULL,NULL,NULL,"
	"NULL,NULL,NULL,NULL,NULL)";

static void a_ninth_schema_is_read_and_completed(void **state)
{
	char *made, *read, *completed;
	struct vt_db *db = NULL;

	(void)state;
	make("ninth.db");
	assert_int_equal(vt_db_open(&db, "ninth.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, vt_embedded_writable_allocations), 0);
	assert_int_equal(vt_db_exec(db, nine_rows), 0);
	made = unit_dump(db);
	take_away(db, "");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "ninth.db", VT_DB_READ, NULL), 0);
	read = unit_dump(db);
	assert_string_equal(read, made);
	assert_int_equal(unit_int(db,
				  "SELECT count(*) FROM allocation_row JOIN allocation_callers c"
				  " ON c.id = callers JOIN allocation_made m ON m.id = made"
				  " LEFT JOIN allocation_freed f ON f.id = freed"
				  " WHERE lived_events IS NULL OR f.thread = 1"),
			 4);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "ninth.db", VT_DB_WRITE, NULL), 0);
	completed = unit_dump(db);
	assert_string_equal(completed, made);
	/* The first and the third are of the same place. */
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_made"), 3);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_freed"), 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_callers"), 3);
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "ninth.db", VT_DB_READ, NULL), 0);
	vt_db_close(db);
	free(completed);
	free(read);
	free(made);
}

/* Of other hundreds of events, with numbers that are no differences of anything. */
static const char ten_rows[] =
	"INSERT INTO allocation VALUES"
	" (300,1,0,35184411860480,512,7,100,1,3000,3,4,5,6,1200,8,1024,8192,9000,3040,1,101,3,4,5,"
	"6,900,4,4,500,1,2),"
	" (301,1,1,35184411860993,513,7,100,1,2900,3,4,5,6,NULL,1300,1025,4096,NULL,NULL,NULL,NULL,"
	"NULL,NULL,NULL,NULL,NULL,NULL,NULL,500,1,NULL),"
	" (302,1,0,4096,512,7,100,1,3100,3,4,5,6,7,8,512,8192,303,3100,1,101,3,4,5,6,7,4,4,500,1,"
	"2)";

static void assert_dump(struct vt_db *db, const char *expected)
{
	char *text = unit_dump(db);

	assert_string_equal(text, expected);
	free(text);
}

static void a_tenth_schema_is_read_and_completed(void **state)
{
	struct vt_db *db = NULL;
	char *made;

	(void)state;
	make("tenth.db");
	assert_int_equal(vt_db_open(&db, "tenth.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, vt_embedded_writable_allocations), 0);
	assert_int_equal(vt_db_exec(db, nine_rows), 0);
	assert_int_equal(vt_db_exec(db, ten_rows), 0);
	made = unit_dump(db);
	assert_int_equal(vt_db_exec(db, vt_embedded_tenth_allocations), 0);
	assert_dump(db, made);
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "tenth.db", VT_DB_READ, NULL), 0);
	assert_dump(db, made);
	assert_int_equal(unit_int(db, "SELECT time_offset_ns FROM allocation_row WHERE id = 301"),
			 2900);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "tenth.db", VT_DB_WRITE, NULL), 0);
	assert_dump(db, made);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	assert_int_equal(unit_int(db, "SELECT time_offset_ns FROM allocation_row WHERE id = 301"),
			 -100);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_base"), 2);
	/* 4096 and 8192 of the one device, 4096 of the other. */
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocator_reserved"), 3);
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "tenth.db", VT_DB_READ, NULL), 0);
	assert_dump(db, made);
	vt_db_close(db);
	free(made);
}

static void a_fourth_schema_is_read_and_completed(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("fourth.db");
	assert_int_equal(vt_db_open(&db, "fourth.db", VT_DB_WRITE, NULL), 0);
	take_away(db, TAKE_AWAY_5 "PRAGMA user_version=4");
	assert_int_equal(vt_db_make_single_file(db), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "fourth.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM operator JOIN operator_tensor"), 0);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "fourth.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_exec(db, "INSERT INTO operator_tensor VALUES (1,0,0,0,1)"), 0);
	assert_int_equal(unit_int(db, "PRAGMA user_version"), VT_DB_SCHEMA_VERSION);
	vt_db_close(db);
}

/* SQLite would take the log of a database that was deleted without it for the new one's. */
static void a_log_of_a_deleted_database_is_not_taken_over(void **state)
{
	struct vt_db *db = NULL;

	(void)state;
	make("again.db");
	assert_int_equal(vt_db_open(&db, "again.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_run_set(db, "key", "of the old one"), 0);
	/* As after SIGKILL of the writer: the log is never folded in. */
	assert_int_equal(link("again.db-wal", "kept"), 0);
	vt_db_close(db);
	assert_int_equal(unlink("again.db"), 0);
	assert_int_equal(rename("kept", "again.db-wal"), 0);

	make("again.db");
	assert_int_equal(vt_db_open(&db, "again.db", VT_DB_READ, NULL), 0);
	assert_int_equal(vt_db_query_int(db, "SELECT count(*) FROM run", -1), 0);
	vt_db_close(db);
}

static void no_permission_is_one_clear_line(void **state)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;

	(void)state;
	assert_int_equal(vt_db_open(&db, "no-such-folder/x.db", VT_DB_CREATE, &diag), -1);
	assert_non_null(strstr(diag.text, "No such file or directory"));
	assert_null(strchr(diag.text, '\n'));
}

static void a_failed_prepare_only_shows_at_the_step(void **state)
{
	struct vt_stmt *stmt;
	struct vt_db *db = NULL;

	(void)state;
	make("prepare.db");
	assert_int_equal(vt_db_open(&db, "prepare.db", VT_DB_READ, NULL), 0);
	stmt = vt_db_prepare(db, "SELECT x FROM nowhere");
	assert_null(stmt);
	vt_stmt_bind_int(stmt, 1, 5);
	vt_stmt_bind_text(stmt, 1, "x");
	assert_int_equal(vt_stmt_step(stmt), -1);
	assert_true(vt_stmt_is_null(stmt, 0));
	vt_stmt_free(stmt);
	assert_non_null(strstr(vt_db_error(db), "nowhere"));
	assert_int_equal(vt_db_query_int(db, "SELECT max(id) FROM allocation", 7), 7);
	/* Statements that were forgotten go with their database. */
	vt_db_prepare(db, "SELECT 1");
	vt_db_close(db);
}

static void a_finished_database_is_one_file(void **state)
{
	struct vt_db *writer = NULL, *reader = NULL;
	struct vt_stmt *stmt;

	(void)state;
	make("single.db");
	assert_int_equal(vt_db_open(&writer, "single.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_run_set(writer, "key", "value"), 0);
	assert_int_equal(access("single.db-wal", F_OK), 0);
	/* A reader in the middle of a question holds it. */
	assert_int_equal(vt_db_open(&reader, "single.db", VT_DB_READ, NULL), 0);
	stmt = vt_db_prepare(reader, "SELECT name FROM function");
	assert_int_equal(vt_stmt_step(stmt), 1);
	assert_int_equal(vt_db_make_single_file(writer), -1);
	vt_db_close(reader);
	assert_int_equal(vt_db_make_single_file(writer), 0);
	assert_int_not_equal(access("single.db-wal", F_OK), 0);
	vt_db_close(writer);
	assert_int_equal(vt_db_open(&reader, "single.db", VT_DB_READ, NULL), 0);
	unit_assert_text(reader, "SELECT value FROM run WHERE key = 'key'", "value");
	vt_db_close(reader);
}

/*
 * Another process, as a command beside the collector: at each byte that it is sent it opens `path`
 * for writing, closes it, and answers.  SQLite knows what its own process has open: it must have
 * begun before this one opens anything.
 */
static int start_other_writer(const char *path)
{
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	if (fork()) {
		close(ends[1]);
		return ends[0];
	}
	close(ends[0]);
	while (read(ends[1], &byte, 1) == 1) {
		struct vt_db *db = NULL;

		byte = vt_db_open(&db, path, VT_DB_WRITE, NULL) ? 'f' : 'w';
		vt_db_close(db);
		if (write(ends[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void let_it_write(int other)
{
	char byte = 'g';

	assert_int_equal(write(other, &byte, 1), 1);
	assert_int_equal(read(other, &byte, 1), 1);
	assert_int_equal(byte, 'w');
}

static void a_writer_that_leaves_takes_no_log_away(void **state)
{
	struct vt_db *writer = NULL, *again = NULL, *reader = NULL;

	int other = start_other_writer("shared.db");

	(void)state;
	make("shared.db");
	/* From here the file itself says that it has a log. */
	let_it_write(other);
	assert_int_equal(vt_db_open(&writer, "shared.db", VT_DB_WRITE, NULL), 0);
	assert_int_equal(vt_db_run_set(writer, "a", "1"), 0);
	let_it_write(other);
	assert_int_equal(vt_db_open_again(&again, writer, NULL), 0);
	vt_db_close(again);
	let_it_write(other);
	assert_int_equal(vt_db_run_set(writer, "b", "2"), 0);
	assert_int_equal(vt_db_open(&reader, "shared.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(reader, "SELECT count(*) FROM run"), 2);
	vt_db_close(reader);
	vt_db_close(writer);
	close(other);
	wait(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_database_has_the_schema_and_the_words),
		cmocka_unit_test(what_exists_is_never_replaced),
		cmocka_unit_test(a_neighbour_with_the_name_of_a_draft_is_not_touched),
		cmocka_unit_test(what_a_killed_creator_left_goes_with_the_next),
		cmocka_unit_test(bad_files_are_refused_by_name),
		cmocka_unit_test(a_first_schema_is_read_as_it_is),
		cmocka_unit_test(a_first_schema_is_completed_by_a_writer),
		cmocka_unit_test(a_second_schema_is_read_and_completed),
		cmocka_unit_test(a_third_schema_is_read_and_completed),
		cmocka_unit_test(a_fourth_schema_is_read_and_completed),
		cmocka_unit_test(a_fifth_schema_is_read_and_completed),
		cmocka_unit_test(a_sixth_schema_is_read_and_completed),
		cmocka_unit_test(a_seventh_schema_is_read_and_completed),
		cmocka_unit_test(an_eighth_schema_is_read_and_completed),
		cmocka_unit_test(a_ninth_schema_is_read_and_completed),
		cmocka_unit_test(a_tenth_schema_is_read_and_completed),
		cmocka_unit_test(a_log_of_a_deleted_database_is_not_taken_over),
		cmocka_unit_test(no_permission_is_one_clear_line),
		cmocka_unit_test(a_failed_prepare_only_shows_at_the_step),
		cmocka_unit_test(a_writer_that_leaves_takes_no_log_away),
		cmocka_unit_test(a_finished_database_is_one_file),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
