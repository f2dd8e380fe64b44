/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/import/import.h"

#define MIB (1ull << 20)

static void an_allocation_and_its_free_are_one_row(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 2 * MIB);
	builder_alloc(&b, VT_KIND_BLOCK, 0x1000, 512);
	builder_free(&b, VT_KIND_BLOCK, 0x1000);
	builder_alloc(&b, VT_KIND_BLOCK, 0x1000, 1024);
	db = unit_import(&b, "pair.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 3);
	assert_int_equal(unit_freed_event(db, 2), 3);
	assert_int_equal(
		unit_int(db, "SELECT freed_time_ns - time_ns FROM allocation WHERE id = 2"), 1000);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event IS NULL"),
			 2);
	assert_int_equal(vt_db_run_get_int(db, "events", -1), 4);
	assert_int_equal(vt_db_run_get_int(db, "unknown_frees", -1), 0);
	vt_db_close(db);
	builder_release(&b);
}

/* The request is larger than 32 bits hold, as any size may be. */
static void the_size_asked_for_is_kept_beside_the_blocks(void **state)
{
	struct vt_event_record record = { .thread = 1,
					  .op = VT_OP_ALLOC,
					  .kind = VT_KIND_BLOCK,
					  .address = 0x1000,
					  .size_bytes = 6144 * MIB,
					  .extra = 6144 * MIB - 5,
					  .stream = 3 };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_event(&b, record);
	builder_alloc(&b, VT_KIND_BLOCK, 0x2000, 512);
	record.op = VT_OP_OUT_OF_MEMORY;
	builder_event(&b, record);
	record.extra = 0;
	builder_event(&b, record);
	db = unit_import(&b, "requested.db");

	assert_int_equal(unit_int(db, "SELECT requested_bytes FROM allocation WHERE id = 1"),
			 6144 * MIB - 5);
	assert_int_equal(unit_int(db, "SELECT id FROM allocation WHERE requested_bytes IS NULL"),
			 2);
	assert_int_equal(unit_int(db, "SELECT requested_bytes FROM out_of_memory WHERE event = 3"),
			 6144 * MIB - 5);
	assert_int_equal(unit_int(db, "SELECT requested_bytes FROM out_of_memory WHERE event = 4"),
			 6144 * MIB);
	assert_int_equal(unit_int(db, "SELECT sum(stream) FROM out_of_memory"), 6);
	vt_db_close(db);
	builder_release(&b);
}

/* cuMemFree takes pointers of cuMemAllocAsync and cuMemAllocManaged as well. */
static void a_driver_pointer_is_freed_by_whatever_function(void **state)
{
	static const enum vt_kind kinds[] = { VT_KIND_POOL, VT_KIND_MANAGED, VT_KIND_PINNED,
					      VT_KIND_SEGMENT };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	for (int i = 0; i < 4; i++)
		builder_alloc(&b, kinds[i], 0x1000 + (uint64_t)i, 10);
	for (int i = 0; i < 4; i++)
		builder_free(&b, VT_KIND_SEGMENT, 0x1000 + (uint64_t)i);
	db = unit_import(&b, "whatever.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event = id + 4"),
			 4);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event"), 0);
	vt_db_close(db);
	builder_release(&b);
}

static void an_address_that_comes_again_ends_the_old_allocation(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 10 * MIB);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 4 * MIB);
	db = unit_import(&b, "reuse.db");

	assert_int_equal(unit_freed_event(db, 1), 2);
	assert_int_equal(vt_db_run_get_int(db, "reused_addresses", -1), 1);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 10 * MIB);
	vt_db_close(db);
	builder_release(&b);
}

static void a_free_of_an_unknown_address_is_an_event(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_free(&b, VT_KIND_SEGMENT, 0x9000);
	builder_free(&b, VT_KIND_BLOCK, 0x9000);
	db = unit_import(&b, "unknown.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM event WHERE op = 2"), 2);
	assert_int_equal(vt_db_run_get_int(db, "unknown_frees", -1), 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM peak"), 0);
	vt_db_close(db);
	builder_release(&b);
}

static void a_refused_free_is_taken_back(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x1000, 5, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x2000, 7, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x1000, 0, 0);
	builder_call(&b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0x2000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x1000, 0, 0);
	/* Live again: the next free is a good one. */
	builder_call(&b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0x1000, 0, 0);
	db = unit_import(&b, "failed.db");

	assert_int_equal(unit_freed_event(db, 1), 6);
	assert_int_equal(unit_freed_event(db, 2), 4);
	/* Both stay visible, so that every event number has a row. */
	assert_int_equal(unit_int(db, "SELECT op FROM event WHERE id = 3"), VT_OP_FREE);
	assert_int_equal(unit_int(db, "SELECT size_bytes FROM event WHERE id = 3"), 5);
	assert_int_equal(unit_int(db, "SELECT op FROM event WHERE id = 5"), VT_OP_FREE_FAILED);
	assert_int_equal(unit_int(db, "SELECT count(DISTINCT event) FROM every_event"), 6);
	vt_db_close(db);
	builder_release(&b);
}

/* A driver's refusal is about the driver's free, not about the block freed since. */
static void a_refused_free_takes_back_no_block(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x1000, 5, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x1000, 5, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_BLOCK, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x1000, 0, 0);
	db = unit_import(&b, "no-block.db");

	assert_int_equal(unit_freed_event(db, 2), 4);
	assert_int_equal(unit_int(db, "SELECT id FROM allocation WHERE freed_event IS NULL"), 1);
	vt_db_close(db);
	builder_release(&b);
}

/*
 * A double free: the second one is unknown, and its failure must not bring the first one's memory
 * back.
 */
static void a_refused_free_of_nothing_takes_nothing_back(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x1000, 5, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x1000, 0, 0);
	db = unit_import(&b, "double.db");

	assert_int_equal(unit_freed_event(db, 1), 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event"), 2);
	vt_db_close(db);
	builder_release(&b);
}

static void memory_on_no_device_has_no_peak(void **state)
{
	struct vt_event_record host = {
		.op = VT_OP_ALLOC, .kind = VT_KIND_VMM, .device = -1, .size_bytes = 64 * MIB
	};
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 4 * MIB);
	builder_event(&b, host);
	db = unit_import(&b, "host.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM peak"), 1);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak WHERE device = 0"), 4 * MIB);
	vt_db_close(db);
	builder_release(&b);
}

static void the_peak_is_the_fullest_of_the_highest_instants(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x10000, 100);
	builder_alloc(&b, VT_KIND_BLOCK, 0x10000, 30);
	builder_alloc(&b, VT_KIND_BLOCK, 0x10040, 50);
	builder_free(&b, VT_KIND_BLOCK, 0x10000);
	builder_alloc(&b, VT_KIND_BLOCK, 0x10000, 30);
	builder_alloc(&b, VT_KIND_PINNED, 0x90000, 1000);
	builder_free(&b, VT_KIND_SEGMENT, 0x10000);
	builder_alloc(&b, VT_KIND_BLOCK, 0x10080, 60);
	db = unit_import(&b, "peak.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM peak"), 1);
	assert_int_equal(unit_int(db, "SELECT event FROM peak"), 3);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 100);
	assert_int_equal(unit_int(db, "SELECT allocated_bytes FROM peak"), 80);
	assert_int_equal(unit_int(db, "SELECT max_allocated_event FROM peak"), 8);
	assert_int_equal(unit_int(db, "SELECT max_allocated_bytes FROM peak"), 140);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM live_at_peak"), 3);
	vt_db_close(db);
	builder_release(&b);
}

static void the_context_is_what_the_first_good_sample_leaves_unexplained(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x10000, 20 * MIB);
	/* Less is used than we know of: another thread was between its two records. */
	builder_call(&b, 1, VT_OP_MEMORY_INFO, VT_KIND_SEGMENT, 0, 1000 * MIB, 990 * MIB);
	builder_call(&b, 1, VT_OP_MEMORY_INFO, VT_KIND_SEGMENT, 0, 1000 * MIB, 500 * MIB);
	builder_device(&b, 0, "Simulated", 1000 * MIB);
	builder_call(&b, 1, VT_OP_MEMORY_INFO, VT_KIND_SEGMENT, 0, 1000 * MIB, 400 * MIB);
	db = unit_import(&b, "context.db");

	assert_int_equal(unit_int(db, "SELECT context_bytes FROM device"), 480 * MIB);
	unit_assert_text(db, "SELECT name FROM device", "Simulated");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event WHERE op = 11"), 3);
	vt_db_close(db);
	builder_release(&b);
}

static void marks_and_out_of_memory_are_events_of_their_own_tables(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_string(&b, 5, "step 1");
	builder_mark(&b, VT_MARK_BEGIN, 5);
	builder_call(&b, 1, VT_OP_OUT_OF_MEMORY, VT_KIND_BLOCK, 0, 40 * MIB, 0);
	builder_mark(&b, VT_MARK_END, 5);
	db = unit_import(&b, "marks.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM mark"), 2);
	unit_assert_text(db,
			 "SELECT text FROM mark JOIN string ON string.id = name WHERE event = 3",
			 "step 1");
	assert_int_equal(unit_int(db, "SELECT requested_bytes FROM out_of_memory WHERE event = 2"),
			 40 * MIB);
	assert_int_equal(vt_db_run_get_int(db, "events", -1), 3);
	vt_db_close(db);
	builder_release(&b);
}

static void losses_are_counted(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_tear(&b, 2);
	builder_string(&b, 1, "one");
	builder_header(&b)->lost_events = 5;
	db = unit_import(&b, "lost.db");

	assert_int_equal(vt_db_run_get_int(db, "lost_events", -1), 5);
	assert_int_equal(vt_db_run_get_int(db, "torn_records", -1), 1);
	vt_db_close(db);
	builder_release(&b);
}

static void how_it_ended_comes_from_the_header(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_info(&b, "recorder", "9.9");
	builder_info(&b, "ended", "a lie");
	db = unit_import(&b, "killed.db");
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "killed");
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'recorder'", "9.9");
	vt_db_close(db);

	builder_header(&b)->has_exit_status = 1;
	builder_header(&b)->exit_status = 3;
	builder_header(&b)->exit_time_ns = b.time_ns + 5000;
	db = unit_import(&b, "exit.db");
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "exit 3");
	assert_int_equal(vt_db_run_get_int(db, "duration_ns", -1), 5000);
	vt_db_close(db);
	builder_release(&b);
}

static void what_the_parent_said_stays(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_BLOCK, 1, 1);
	db = unit_import_slots(builder_header(&b), builder_slots(&b), b.nr_slots, 1, "parent.db");
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "running");
	vt_db_run_set(db, "ended", "signal 9");
	vt_db_close(db);
	db = unit_import(&b, "parent.db");
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "signal 9");
	vt_db_close(db);
	builder_release(&b);
}

static void another_runs_database_is_left_alone(void **state)
{
	struct vt_diag diag = { 0 };
	struct vt_import *im = NULL;
	struct builder b;
	struct vt_db *db;
	char *before, *after;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_BLOCK, 1, 1);
	db = unit_import(&b, "other.db");
	before = unit_dump(db);
	builder_header(&b)->start_realtime_ns++;
	assert_int_equal(vt_import_open(&im, db, builder_header(&b), &diag), -1);
	assert_int_equal(diag.exit_code, 3);
	assert_non_null(strstr(diag.text, "another run"));
	after = unit_dump(db);
	assert_string_equal(before, after);
	free(before);
	free(after);
	vt_db_close(db);
	builder_release(&b);
}

/* A living program's import stops at a record that is not there and goes on when it is. */
static void a_live_import_waits_for_the_record_in_flight(void **state)
{
	struct vt_import *im = NULL;
	struct vt_record *late;
	struct builder b;
	struct vt_db *db = NULL;
	uint64_t slot;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 1);
	slot = b.nr_slots;
	builder_alloc(&b, VT_KIND_SEGMENT, 0x2000, 1);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x3000, 1);
	late = (void *)(b.bytes + VT_JOURNAL_HEADER_BYTES + slot * VT_SLOT_BYTES);
	late->commit = 0;

	assert_int_equal(vt_db_open(&db, "live.db", VT_DB_CREATE, NULL), 0);
	assert_int_equal(vt_import_open(&im, db, builder_header(&b), NULL), 0);
	assert_int_equal(vt_import_batch(im, builder_header(&b), builder_slots(&b), b.nr_slots, 0,
					 100, NULL),
			 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 1);
	assert_int_equal(vt_import_batch(im, builder_header(&b), builder_slots(&b), b.nr_slots, 0,
					 100, NULL),
			 0);
	late->commit = vt_record_commit(slot);
	assert_int_equal(vt_import_batch(im, builder_header(&b), builder_slots(&b), b.nr_slots, 0,
					 100, NULL),
			 4);
	assert_int_equal(unit_int(db, "SELECT address FROM allocation WHERE id = 2"), 0x2000);
	assert_int_equal(vt_db_run_get_int(db, "torn_records", -1), 0);
	vt_import_close(im);
	vt_db_close(db);
	builder_release(&b);
}

/* Opened plainly, a pipe would wait for a writer that never comes. */
static void a_frameworks_version_is_read_from_files_only(void **state)
{
	static const char text[] = "# made by setup.py\n__version__ = '2.11.0+cu130'\n";
	char *folder = getcwd(NULL, 0), path[4200];
	struct builder b;
	struct vt_db *db;
	FILE *file;

	(void)state;
	alarm(20);
	snprintf(path, sizeof(path), "%s/lib/libtorch_cpu.so", folder);
	builder_init(&b);
	builder_module(&b, 0x1000, 0x2000, path);
	assert_int_equal(mkfifo("version.py", 0600), 0);
	db = unit_import(&b, "version-pipe.db");
	assert_null(vt_db_run_get(db, "torch"));
	vt_db_close(db);
	unlink("version.py");
	file = fopen("version.py", "we");
	fputs(text, file);
	fclose(file);
	db = unit_import(&b, "version.db");
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'torch'", "2.11.0+cu130");
	vt_db_close(db);
	/* Another machine's path: what lies there on this one is another's. */
	builder_header(&b)->boot_hash = 1;
	builder_header(&b)->pid_namespace = 1;
	db = unit_import(&b, "elsewhere.db");
	assert_null(vt_db_run_get(db, "torch"));
	vt_db_close(db);
	alarm(0);
	builder_release(&b);
	free(folder);
}

/* A run that cannot be read is not taken for none, which would begin anew over it. */
static void an_unreadable_run_is_left_alone(void **state)
{
	struct vt_import *im = NULL;
	struct vt_diag diag = { 0 };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 512);
	db = unit_import(&b, "unreadable.db");
	assert_int_equal(vt_db_exec(db, "ALTER TABLE run RENAME COLUMN value TO hidden"), 0);
	assert_int_equal(vt_import_open(&im, db, builder_header(&b), &diag), -1);
	assert_non_null(strstr(diag.text, "no such column"));
	unit_assert_text(db, "SELECT hidden FROM run WHERE key = 'ended'", "killed");
	vt_db_close(db);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_allocation_and_its_free_are_one_row),
		cmocka_unit_test(the_size_asked_for_is_kept_beside_the_blocks),
		cmocka_unit_test(a_driver_pointer_is_freed_by_whatever_function),
		cmocka_unit_test(an_address_that_comes_again_ends_the_old_allocation),
		cmocka_unit_test(a_free_of_an_unknown_address_is_an_event),
		cmocka_unit_test(a_refused_free_is_taken_back),
		cmocka_unit_test(a_refused_free_takes_back_no_block),
		cmocka_unit_test(a_refused_free_of_nothing_takes_nothing_back),
		cmocka_unit_test(memory_on_no_device_has_no_peak),
		cmocka_unit_test(the_peak_is_the_fullest_of_the_highest_instants),
		cmocka_unit_test(the_context_is_what_the_first_good_sample_leaves_unexplained),
		cmocka_unit_test(marks_and_out_of_memory_are_events_of_their_own_tables),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(how_it_ended_comes_from_the_header),
		cmocka_unit_test(what_the_parent_said_stays),
		cmocka_unit_test(another_runs_database_is_left_alone),
		cmocka_unit_test(a_frameworks_version_is_read_from_files_only),
		cmocka_unit_test(an_unreadable_run_is_left_alone),
		cmocka_unit_test(a_live_import_waits_for_the_record_in_flight),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
