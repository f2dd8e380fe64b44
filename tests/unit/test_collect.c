/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/import/collect.h"
#include "analyzer/import/journal_file.h"

#define EVENTS 30000 /* some chunks, several batches */

/*
 * Takes the place of SQLite's own, which it calls: nobody here waits long for a lock, and a test
 * lets go of it when a database is opened for the second time.
 */
int sqlite3_busy_timeout(void *raw, int timeout_ms);

static struct {
	int nr_opened; /* since it was set to 0 */
	struct vt_db *holder;
	pid_t program;
} g;

int sqlite3_busy_timeout(void *raw, int timeout_ms)
{
	int (*real)(void *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "sqlite3_busy_timeout");
	if (timeout_ms && ++g.nr_opened == 2 && g.holder) {
		vt_db_rollback(g.holder);
		kill(g.program, SIGKILL);
		waitpid(g.program, NULL, 0);
	}
	return real(raw, timeout_ms < 20 ? timeout_ms : 20);
}

static void make_journal(const char *path)
{
	struct builder b;

	builder_init(&b);
	for (uint64_t i = 0; i < EVENTS; i++) {
		builder_alloc(&b, VT_KIND_BLOCK, 0x1000 + i % 100 * 512, 512 + i);
		builder_free(&b, VT_KIND_BLOCK, 0x1000 + i % 100 * 512);
	}
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 1 << 21);
	builder_write(&b, path);
	builder_release(&b);
}

static void assert_complete(const char *path)
{
	struct vt_db *db = NULL;

	assert_int_equal(vt_db_open(&db, path, VT_DB_READ, NULL), 0);
	assert_int_equal(vt_db_run_get_int(db, "events", -1), 2 * EVENTS + 1);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event = id + 1"),
			 EVENTS);
	assert_int_equal(unit_int(db, "SELECT sum(size_bytes) FROM allocation WHERE kind = 1"),
			 EVENTS * 512ll + EVENTS * (EVENTS - 1ll) / 2);
	assert_int_equal(vt_db_run_get_int(db, "unknown_frees", -1), 0);
	vt_db_close(db);
}

static void a_dead_programs_journal_becomes_one_file(void **state)
{
	struct vt_collect_options options = { 0 };
	struct vt_diag diag = { 0 };

	(void)state;
	make_journal("dead.journal");
	assert_int_equal(vt_collect_run("dead.journal", "dead.db", &options, &diag),
			 VT_COLLECT_DONE);
	assert_int_not_equal(access("dead.journal", F_OK), 0);
	assert_int_not_equal(access("dead.db-wal", F_OK), 0);
	assert_int_not_equal(access("dead.db-shm", F_OK), 0);
	assert_complete("dead.db");
}

/* Killed at moments spread over the whole import, until one gets through. */
static void an_importer_that_is_killed_again_and_again_loses_nothing(void **state)
{
	struct vt_collect_options options = { 0 };
	int kills = 0, status;

	(void)state;
	make_journal("kill.journal");
	for (useconds_t delay = 500; !access("kill.journal", F_OK) && delay < 10000000;
	     delay += delay / 4) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(vt_collect_run("kill.journal", "kill.db", &options, NULL) ? 1 : 0);
		usleep(delay);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		kills += WIFSIGNALED(status);
	}
	assert_true(kills > 3);
	assert_int_equal(vt_collect_run("kill.journal", "kill.db", &options, NULL),
			 VT_COLLECT_DONE);
	/* Once more: it is done already.  Where there is nothing at all, nothing is done. */
	assert_int_equal(vt_collect_run("kill.journal", "kill.db", &options, NULL),
			 VT_COLLECT_DONE);
	assert_int_equal(vt_collect_run("no.journal", "no.db", &options, NULL), VT_COLLECT_FAILED);
	assert_complete("kill.db");
}

/* Asked when all rows are there. */
static void say_use(struct vt_db *db, uint64_t *bytes, int32_t *device)
{
	*bytes = (uint64_t)vt_db_count(db, "allocation");
	*device = 3;
}

/* A program that appends while its collector reads, and is killed. */
static void a_living_program_is_followed_to_its_end(void **state)
{
	struct vt_collect_options options = { .is_following = 1, .highest_use = say_use };
	struct vt_journal_header *header;
	struct builder b;
	int ends[2], status, fd;
	pid_t program;
	char go;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	program = fork();
	if (program == 0) {
		assert_int_equal(read(ends[0], &go, 1), 1);
		fd = open("follow.journal", O_RDWR);
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		for (uint64_t slots = header->head_slots;
		     slots + 2 <= header->reserved_writer[0]; slots += 2)
			__atomic_store_n(&header->head_slots, slots + 2, __ATOMIC_RELEASE);
		/* As exit handlers do. */
		__atomic_store_n(&header->state, VT_JOURNAL_EXITING, __ATOMIC_RELEASE);
		while (__atomic_load_n(&header->peak_slots, __ATOMIC_ACQUIRE) < header->head_slots)
			usleep(1000);
		kill(getpid(), SIGKILL);
	}
	builder_init(&b);
	builder_header(&b)->pid = (uint32_t)program;
	builder_header(&b)->process_start_ticks = 0;
	for (int i = 0; i < 5000; i++)
		builder_alloc(&b, VT_KIND_SEGMENT, 0x1000 + (uint64_t)i * 512, 512);
	builder_write(&b, "follow.journal");
	/* The file is there as a whole, its head moves. */
	fd = open("follow.journal", O_RDWR);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	header->reserved_writer[0] = b.nr_slots;
	header->head_slots = 2;
	assert_int_equal(write(ends[1], "g", 1), 1);
	assert_int_equal(vt_collect_run("follow.journal", "follow.db", &options, NULL),
			 VT_COLLECT_DONE);
	assert_int_equal(waitpid(program, &status, 0), program);
	assert_int_equal(header->imported_slots, b.nr_slots);
	assert_int_equal(header->event_count, 5000);
	assert_int_equal(header->peak_slots, b.nr_slots);
	assert_int_equal(header->peak_bytes, 5000);
	assert_int_equal(header->peak_device, 3);
	assert_int_equal(header->importer_pid, 0);
	munmap(header, 4096);
	close(fd);
	builder_release(&b);
}

/* The first `nr_slots` are imported already.  The lock lasts until the collector tries again. */
static void collect_beside_a_lock(struct builder *b, uint64_t nr_slots)
{
	struct vt_collect_options options = { .is_following = 1 };
	struct vt_diag diag = { 0 };

	g.program = fork();
	if (!g.program) {
		pause();
		_exit(0);
	}
	builder_header(b)->pid = (uint32_t)g.program;
	builder_header(b)->process_start_ticks = 0;
	builder_write(b, "lock.journal");
	if (nr_slots)
		vt_db_close(unit_import_slots(builder_header(b), builder_slots(b), nr_slots, 10,
					      "lock.db"));
	assert_int_equal(vt_db_open(&g.holder, "lock.db",
				    nr_slots ? VT_DB_WRITE : VT_DB_CREATE, NULL), 0);
	assert_int_equal(vt_db_begin(g.holder), 0);
	g.nr_opened = 0;
	if (vt_collect_run("lock.journal", "lock.db", &options, &diag) != VT_COLLECT_DONE)
		fail_msg("%s", diag.text);
	assert_int_equal(unit_int(g.holder, "SELECT count(*) FROM allocation"), 100);
	assert_int_equal(vt_db_run_get_int(g.holder, "events", 0), 100);
	vt_db_close(g.holder);
	g.holder = NULL;
	assert_int_not_equal(access("lock.journal", F_OK), 0);
	unlink("lock.db");
}

static void a_held_write_lock_does_not_end_the_collector(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b);
	for (int i = 0; i < 100; i++)
		builder_alloc(&b, VT_KIND_SEGMENT, 0x1000 + (uint64_t)i * 512, 512);
	collect_beside_a_lock(&b, 0);
	collect_beside_a_lock(&b, 40);
	builder_release(&b);
}

/* Damaged, or made to have an unread journal deleted. */
static void a_database_ahead_of_its_journal_is_refused(void **state)
{
	struct vt_collect_options options = { 0 };
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	struct builder b;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 512);
	builder_write(&b, "ahead.journal");
	db = unit_import_slots(builder_header(&b), builder_slots(&b), b.nr_slots, 10, "ahead.db");
	assert_int_equal(vt_db_run_set(db, "imported_slots", "1000"), 0);
	vt_db_close(db);
	assert_int_equal(vt_collect_run("ahead.journal", "ahead.db", &options, &diag),
			 VT_COLLECT_FAILED);
	assert_int_equal(diag.exit_code, 3);
	assert_non_null(strstr(diag.text, "ahead.db"));
	assert_int_equal(access("ahead.journal", F_OK), 0);

	/* The journal's own header says so, and there is no database. */
	unlink("ahead.db");
	builder_header(&b)->imported_slots = 1ull << 40;
	builder_write(&b, "ahead.journal");
	assert_int_equal(vt_collect_run("ahead.journal", "ahead.db", &options, NULL),
			 VT_COLLECT_FAILED);
	assert_int_equal(access("ahead.journal", F_OK), 0);
	builder_release(&b);
}

/* The process id says nothing here: neither that the program is dead nor that it lives. */
static void a_program_elsewhere_keeps_its_journal(void **state)
{
	struct vt_collect_options options = { .is_following = 1 };
	struct vt_journal_header header;
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	struct builder b;

	(void)state;
	builder_init(&b);
	builder_header(&b)->boot_hash = 1;
	builder_header(&b)->pid_namespace = 1;
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, 512);
	builder_tear(&b, 2); /* in flight, as far as we know */
	builder_alloc(&b, VT_KIND_SEGMENT, 0x2000, 512);
	builder_write(&b, "far.journal");
	assert_int_equal(vt_collect_run("far.journal", "far.db", &options, &diag),
			 VT_COLLECT_ELSEWHERE);
	assert_non_null(strstr(diag.text, "vtrace collect --foreground --dead far.journal"));
	/* Its header is the program's alone: a page of another machine may be behind. */
	assert_int_equal(vt_journal_file_peek("far.journal", &header, NULL), 0);
	assert_memory_equal(&header, b.bytes, sizeof(header));
	assert_int_equal(vt_db_open(&db, "far.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 1);
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "running");
	vt_db_close(db);

	options.is_writer_dead = 1;
	assert_int_equal(vt_collect_run("far.journal", "far.db", &options, NULL), VT_COLLECT_DONE);
	assert_int_not_equal(access("far.journal", F_OK), 0);
	assert_int_equal(vt_db_open(&db, "far.db", VT_DB_READ, NULL), 0);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 2);
	unit_assert_text(db, "SELECT value FROM run WHERE key = 'ended'", "killed");
	vt_db_close(db);
	builder_release(&b);
}

static void imported_chunks_are_given_back(void **state)
{
	struct vt_journal_file file;
	struct stat before, after;

	(void)state;
	make_journal("holes.journal");
	stat("holes.journal", &before);
	assert_int_equal(vt_journal_file_open(&file, "holes.journal", NULL), VT_JOURNAL_OPENED);
	vt_journal_file_recycle(&file, VT_CHUNK_SLOTS + 5);
	stat("holes.journal", &after);
	assert_int_equal(after.st_size, before.st_size);
	if (after.st_blocks == before.st_blocks)
		print_message("this file system has no holes\n");
	else
		assert_int_equal((before.st_blocks - after.st_blocks) * 512, VT_CHUNK_BYTES);
	vt_journal_file_close(&file);
}

static void two_importers_do_not_meet(void **state)
{
	struct vt_collect_options options = { 0 };
	struct vt_journal_file file;

	(void)state;
	make_journal("two.journal");
	assert_int_equal(vt_journal_file_open(&file, "two.journal", NULL), VT_JOURNAL_OPENED);
	assert_int_equal(vt_journal_file_header(&file)->importer_pid, getpid());
	assert_true(vt_journal_file_is_held("two.journal"));
	assert_int_equal(vt_collect_run("two.journal", "two.db", &options, NULL), VT_COLLECT_BUSY);
	vt_journal_file_close(&file);
	assert_false(vt_journal_file_is_held("two.journal"));
	assert_int_equal(vt_collect_run("two.journal", "two.db", &options, NULL), VT_COLLECT_DONE);
}

/*
 * The holder deletes the journal while another importer waits for the lock.  Whether that one gets
 * it in time is up to the machine; it must never take the deleted file for a journal.
 */
static void a_journal_that_was_finished_meanwhile_is_not_taken_up(void **state)
{
	struct vt_journal_file holder, other;
	int result = 0, status;
	struct builder b;

	(void)state;
	builder_init(&b);
	for (int i = 0; i < 20 && result != 1; i++) {
		pid_t pid;

		builder_write(&b, "gone.journal");
		assert_int_equal(vt_journal_file_open(&holder, "gone.journal", NULL),
				 VT_JOURNAL_OPENED);
		pid = fork();
		if (pid == 0) {
			/*
			 * The lock is the open file's: it goes with the last that has it open or
			 * mapped.
			 */
			munmap(holder.map, holder.map_bytes);
			close(holder.fd);
			result = vt_journal_file_open(&other, "gone.journal", NULL);
			_exit(result == VT_JOURNAL_OPENED ? 2 : result == VT_JOURNAL_GONE);
		}
		usleep(5000);
		vt_journal_file_delete(&holder);
		vt_journal_file_close(&holder);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		result = WEXITSTATUS(status);
		assert_int_not_equal(result, 2);
	}
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_programs_journal_becomes_one_file),
		cmocka_unit_test(an_importer_that_is_killed_again_and_again_loses_nothing),
		cmocka_unit_test(a_living_program_is_followed_to_its_end),
		cmocka_unit_test(a_held_write_lock_does_not_end_the_collector),
		cmocka_unit_test(a_database_ahead_of_its_journal_is_refused),
		cmocka_unit_test(a_program_elsewhere_keeps_its_journal),
		cmocka_unit_test(imported_chunks_are_given_back),
		cmocka_unit_test(two_importers_do_not_meet),
		cmocka_unit_test(a_journal_that_was_finished_meanwhile_is_not_taken_up),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
