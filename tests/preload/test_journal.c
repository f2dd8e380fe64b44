/* SPDX-License-Identifier: MIT */
/* preload/journal.c without any hook: what is appended is what a reader finds, whatever happens. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/early.h"
#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/sys.h"
#include "preload/thread_state.h"
#include "tests/lib/platform.h"
#include "tests/preload/walk.h"

#define NR_THREADS 4
#define PER_THREAD 30000u	/* with records of 128 to 600 bytes: several chunks */

static struct {
	char directory[64];
	char path[80];
	int allocations_left;	/* before vt_sys_allocate fails, -1 = never */
	int allocation_error;
	int ends_in_growth;	/* the thread in the next vt_sys_allocate never returns */
	int ends_in_write;	/* ... vt_sys_write_at */
	int is_unmappable;	/* no file can be mapped */
	volatile int nr_signals;
} g;

int __real_vt_sys_allocate(int fd, uint64_t offset, uint64_t len);
int __wrap_vt_sys_allocate(int fd, uint64_t offset, uint64_t len);

int __wrap_vt_sys_allocate(int fd, uint64_t offset, uint64_t len)
{
	if (g.ends_in_growth) {
		g.ends_in_growth = 0;
		pthread_exit(NULL);
	}
	if (g.allocations_left == 0)
		return g.allocation_error;
	if (g.allocations_left > 0)
		g.allocations_left--;
	return __real_vt_sys_allocate(fd, offset, len);
}

void *__real_vt_sys_reserve_file(int fd, size_t len);
void *__wrap_vt_sys_reserve_file(int fd, size_t len);

void *__wrap_vt_sys_reserve_file(int fd, size_t len)
{
	return g.is_unmappable ? NULL : __real_vt_sys_reserve_file(fd, len);
}

int __real_vt_sys_write_at(int fd, const void *bytes, size_t len, uint64_t offset);
int __wrap_vt_sys_write_at(int fd, const void *bytes, size_t len, uint64_t offset);

int __wrap_vt_sys_write_at(int fd, const void *bytes, size_t len, uint64_t offset)
{
	if (g.ends_in_write) {
		g.ends_in_write = 0;
		pthread_exit(NULL);
	}
	return __real_vt_sys_write_at(fd, bytes, len, offset);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(g.directory, "/tmp/vtrace-journal-XXXXXX");
	g.allocations_left = -1;
	g.ends_in_growth = g.ends_in_write = g.is_unmappable = 0;
	if (!mkdtemp(g.directory))
		return -1;
	snprintf(g.path, sizeof(g.path), "%s/a.journal", g.directory);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	vt_journal_forget();
	snprintf(command, sizeof(command), "rm -r %s", g.directory);
	return system(command);
}

/* An event that can be told from all others. */
static int append_event(uint32_t thread, uint64_t n)
{
	struct vt_event_record event = { .op = VT_OP_ALLOC, .thread = thread, .address = n };

	return vt_journal_append(&event, sizeof(event), VT_RECORD_EVENT);
}

/* A record of n-dependent length, filled to its last byte. */
static int append_string(uint32_t id, uint64_t n)
{
	struct vt_string_record *record;
	size_t len = n * 37 % 580;
	uint64_t slot;

	record = vt_journal_reserve(sizeof(*record) + len, &slot);
	if (!record)
		return -1;
	record->id = id;
	record->len = (uint32_t)len;
	memset(record->text, (int)('a' + n % 26), len);
	vt_journal_commit(record, slot, sizeof(*record) + len, VT_RECORD_STRING);
	return 0;
}

static void *append_many(void *argument)
{
	uint32_t thread = *(uint32_t *)argument;

	for (uint64_t n = 0; n < PER_THREAD; n++)
		if (append_event(thread, n) || append_string(thread, n))
			return argument;
	return NULL;
}

static void append_from_threads(void)
{
	pthread_t threads[NR_THREADS];
	uint32_t numbers[NR_THREADS];
	void *failed;

	for (uint32_t i = 0; i < NR_THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, append_many, &numbers[i]), 0);
	}
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

/* Each thread's records in its order, each whole. */
static void check_order(struct walk *walk, uint64_t *next_event, uint64_t *next_string)
{
	const struct vt_record *record;

	while ((record = walk_next(walk))) {
		const struct vt_event_record *event = (const void *)record;
		const struct vt_string_record *string = (const void *)record;

		if (record->type == VT_RECORD_EVENT) {
			assert_int_equal(event->address, next_event[event->thread]++);
			continue;
		}
		assert_int_equal(record->type, VT_RECORD_STRING);
		assert_int_equal(string->len, next_string[string->id] * 37 % 580);
		next_string[string->id]++;
	}
}

static void threads_fill_chunks_without_a_gap(void **state)
{
	uint64_t events[NR_THREADS] = { 0 };
	uint64_t strings[NR_THREADS] = { 0 };
	struct walk walk;

	(void)state;
	assert_int_equal(vt_journal_open(g.path), 0);
	append_from_threads();
	walk_open(&walk, g.path);
	assert_true(walk_header(&walk)->head_slots > 4 * VT_CHUNK_SLOTS);
	check_order(&walk, events, strings);
	assert_int_equal(walk.nr_torn, 0);
	for (int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(events[i], PER_THREAD);
		assert_int_equal(strings[i], PER_THREAD);
	}
	walk_close(&walk);
}

static void any_prefix_is_readable(void **state)
{
	struct walk walk;
	size_t whole;

	(void)state;
	assert_int_equal(vt_journal_open(g.path), 0);
	append_from_threads();
	walk_open(&walk, g.path);
	whole = walk.size_bytes;
	srand(7);
	for (int i = 0; i < 60; i++) {
		uint64_t events[NR_THREADS] = { 0 };
		uint64_t strings[NR_THREADS] = { 0 };

		walk.size_bytes = sizeof(struct vt_journal_header) +
				  (size_t)rand() * 7919u % (whole - VT_JOURNAL_HEADER_BYTES);
		if (walk.size_bytes < VT_JOURNAL_HEADER_BYTES)
			continue;
		walk.slot = 0;
		check_order(&walk, events, strings);
	}
	walk_close(&walk);
}

static void unfinished_record_is_passed_over(void **state)
{
	struct walk walk;
	uint64_t slot;

	(void)state;
	assert_int_equal(vt_journal_open(g.path), 0);
	assert_int_equal(append_event(1, 1), 0);
	assert_non_null(vt_journal_reserve(sizeof(struct vt_event_record), &slot));
	assert_int_equal(append_event(1, 2), 0);
	walk_open(&walk, g.path);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 2);
	assert_int_equal(walk.nr_torn, 2);
	walk_close(&walk);
}

static void existing_file_is_not_touched(void **state)
{
	char text[8] = "";
	FILE *file = fopen(g.path, "w");

	(void)state;
	fputs("mine", file);
	fclose(file);
	assert_int_equal(vt_journal_open(g.path), -EEXIST);
	assert_int_equal(vt_sys_read_file(g.path, text, sizeof(text)), 4);
	assert_string_equal(text, "mine");
}

/* Fills the journal until it refuses; returns how many events it took. */
static uint64_t append_until_refused(void)
{
	uint64_t n = 0;

	while (n < 200000 && append_event(1, n) == 0)
		n++;
	return n;
}

static void full_disk_ends_the_recording_only(void **state)
{
	uint64_t events[NR_THREADS] = { 0 };
	uint64_t strings[NR_THREADS] = { 0 };
	struct walk walk;
	uint64_t n;

	(void)state;
	g.allocations_left = 2;
	g.allocation_error = -ENOSPC;
	assert_int_equal(vt_journal_open(g.path), 0);
	n = append_until_refused();
	assert_int_equal(n, 2 * VT_CHUNK_BYTES / sizeof(struct vt_event_record));
	vt_journal_count_lost(5);
	assert_false(vt_journal_is_recording());
	assert_int_equal(append_event(1, n), -1);

	walk_open(&walk, g.path);
	assert_int_equal(walk_header(&walk)->state, VT_JOURNAL_OFF);
	assert_int_equal(walk_header(&walk)->off_reason, ENOSPC);
	assert_int_equal(walk_header(&walk)->lost_events, 5);
	check_order(&walk, events, strings);
	assert_int_equal(events[1], n);
	assert_int_equal(walk.nr_torn, 0);
	walk_close(&walk);
}

/* While another thread opened the recording, for longer than anybody waits. */
static void losses_before_the_start_are_counted(void **state)
{
	(void)state;
	vt_journal_count_lost(3);
	/* As a recording begins. */
	vt_journal_forget();
	assert_int_equal(vt_journal_open(g.path), 0);
	vt_journal_count_lost(1);
	assert_int_equal(vt_journal_header()->lost_events, 4);
}

static int child_s_losses(void)
{
	vt_journal_forget();
	return vt_journal_open(g.path) ? 99 : (int)vt_journal_header()->lost_events;
}

static void losses_of_a_parent_are_not_the_child_s(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	vt_journal_count_lost(3);
	pid = fork();
	if (pid == 0)
		_exit(child_s_losses());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void full_disk_at_the_start_leaves_nothing(void **state)
{
	(void)state;
	g.allocations_left = 0;
	g.allocation_error = -ENOSPC;
	assert_int_equal(vt_journal_open(g.path), -ENOSPC);
	assert_int_equal(access(g.path, F_OK), -1);
	assert_null(vt_journal_header());
}

static void count_signal(int number)
{
	(void)number;
	g.nr_signals++;
}

/* A limit on file sizes kills whoever writes beyond it with SIGXFSZ, unless it is asked first. */
static void file_size_limit_raises_no_signal(void **state)
{
	struct rlimit old;
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, count_signal);
	limit = old;
	limit.rlim_cur = VT_JOURNAL_HEADER_BYTES + VT_CHUNK_BYTES + 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(vt_journal_open(g.path), 0);
	append_until_refused();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(vt_journal_header()->off_reason, EFBIG);
	assert_int_equal(g.nr_signals, 0);
}

static void replaced_file_is_not_grown(void **state)
{
	char moved[96];
	FILE *other;

	(void)state;
	assert_int_equal(vt_journal_open(g.path), 0);
	snprintf(moved, sizeof(moved), "%s.moved", g.path);
	assert_int_equal(rename(g.path, moved), 0);
	other = fopen(g.path, "w");
	append_until_refused();
	fseek(other, 0, SEEK_END);
	assert_int_equal(ftell(other), 0);
	fclose(other);
	assert_int_equal(vt_journal_header()->off_reason, ESTALE);
}

static unsigned int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(directory))
		nr++;
	closedir(directory);
	return nr;
}

static void no_descriptor_stays_open(void **state)
{
	unsigned int before = count_descriptors();

	(void)state;
	assert_int_equal(vt_journal_open(g.path), 0);
	append_from_threads();
	assert_int_equal(count_descriptors(), before);
}

static void fork_child_has_no_way_into_the_journal(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	skip_where_children_get_everything();
	assert_int_equal(vt_journal_open(g.path), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		append_event(1, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(vt_journal_header()->head_slots, 0);
}

static uint32_t keep(enum vt_mark_kind kind, const char *name)
{
	return vt_early_keep(kind, VT_SOURCE_NVTX, name, strlen(name), 9);
}

/* A range that ended before the recording is not in it; the others are, in the order of time. */
static void early_marks_are_written_at_the_start(void **state)
{
	const struct vt_mark_record *mark;
	struct walk walk;
	uint32_t outer = keep(VT_MARK_BEGIN, "outer");
	uint32_t inner = keep(VT_MARK_BEGIN, "ended");

	(void)state;
	keep(VT_MARK_POINT, "point");
	vt_early_drop(inner);
	assert_int_equal(vt_early_id(outer), 0);
	assert_int_equal(vt_journal_open(g.path), 0);
	vt_intern_reset();
	vt_early_write();
	vt_early_write();

	walk_open(&walk, g.path);
	assert_int_equal(walk_count(&walk, VT_RECORD_MARK), 2);
	assert_int_equal(walk_count(&walk, VT_RECORD_STRING), 2);
	walk.slot = 0;
	while ((mark = (const void *)walk_next(&walk))->head.type != VT_RECORD_MARK)
		;
	assert_int_equal(mark->kind, VT_MARK_BEGIN);
	assert_int_equal(mark->thread, 9);
	assert_int_equal(mark->name, vt_early_id(outer));
	assert_true(mark->name != 0);
	assert_int_equal(vt_early_id(inner), 0);
	walk_close(&walk);
	vt_early_reset();
	assert_int_equal(vt_early_id(outer), 0);
}

/* What a thread remembers of open ranges is exchanged for ids, and void in the next recording. */
static void open_ranges_change_into_ids(void **state)
{
	struct vt_thread *thread = vt_thread_self();
	uint32_t scope;

	(void)state;
	vt_early_reset();
	scope = keep(VT_MARK_BEGIN, "outer");
	thread->scope[0] = scope;
	thread->nr_scopes = 1;
	thread->node_class = 5;
	assert_int_equal(vt_journal_open(g.path), 0);
	vt_intern_reset();
	vt_early_write();
	vt_thread_new_generation();
	assert_int_equal(vt_thread_self()->scope[0], vt_early_id(scope));
	assert_true(thread->scope[0] != 0 && thread->scope[0] < VT_EARLY_SCOPE);
	assert_int_equal(thread->node_class, 0);
	vt_thread_new_generation();
	assert_int_equal(vt_thread_self()->scope[0], 0);
	assert_int_equal(thread->nr_scopes, 1);
}

static void early_marks_are_few(void **state)
{
	uint32_t kept = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		kept += keep(VT_MARK_POINT, "point") != 0;
	assert_int_equal(kept, 32);
	assert_true(keep(VT_MARK_BEGIN, "a range still finds room") != 0);
}

static void run_to_its_end(void *(*run)(void *))
{
	uint32_t number = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, &number), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Nobody can grow any more: the recording ends, and says so, instead of losing each event late. */
static void a_thread_that_ends_while_it_grows_ends_the_recording(void **state)
{
	uint64_t nr = 0;

	(void)state;
	assert_int_equal(vt_journal_open(g.path), 0);
	g.ends_in_growth = 1;
	run_to_its_end(append_many);
	assert_int_equal(g.ends_in_growth, 0);
	while (!append_event(1, nr))
		nr++;
	assert_true(nr > 0);
	assert_int_equal(vt_journal_header()->off_reason, ETIMEDOUT);
	assert_false(vt_journal_is_recording());
}

static uint64_t lost_in_file(void)
{
	struct vt_journal_header header;
	int fd = open(g.path, O_RDONLY);

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	close(fd);
	assert_int_equal(header.state, VT_JOURNAL_OFF);
	assert_int_equal(header.off_reason, ETIMEDOUT);
	return header.lost_events;
}

/* What waits in memory for a writer that never comes back is counted, in the file as well. */
static void a_thread_that_ends_while_it_writes_ends_the_recording(void **state)
{
	uint64_t nr = 0;

	(void)state;
	g.is_unmappable = 1;
	assert_int_equal(vt_journal_open(g.path), 0);
	g.ends_in_write = 1;
	run_to_its_end(append_many);
	assert_int_equal(g.ends_in_write, 0);
	while (nr < 100000000 && !append_event(1, nr))
		nr++;
	assert_int_equal(vt_journal_header()->off_reason, ETIMEDOUT);
	/* With the one that the other thread was at. */
	assert_int_equal(lost_in_file(), nr + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(threads_fill_chunks_without_a_gap),
		TEST(any_prefix_is_readable),
		TEST(unfinished_record_is_passed_over),
		TEST(existing_file_is_not_touched),
		TEST(full_disk_ends_the_recording_only),
		TEST(losses_before_the_start_are_counted),
		TEST(losses_of_a_parent_are_not_the_child_s),
		TEST(full_disk_at_the_start_leaves_nothing),
		TEST(file_size_limit_raises_no_signal),
		TEST(replaced_file_is_not_grown),
		TEST(no_descriptor_stays_open),
		TEST(fork_child_has_no_way_into_the_journal),
		TEST(early_marks_are_written_at_the_start),
		TEST(open_ranges_change_into_ids),
		TEST(early_marks_are_few),
		TEST(a_thread_that_ends_while_it_grows_ends_the_recording),
		TEST(a_thread_that_ends_while_it_writes_ends_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
