/* SPDX-License-Identifier: MIT */
/* Several recordings of equal runs a side: what differs by no more than they do is no change. */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/units.h"
#include "analyzer/diff/fail_on.h"
#include "analyzer/diff/noise.h"
#include "analyzer/model/when.h"
#include "analyzer/database/db.h"
#include "tests/lib/database_builder.h"

#define MOST_RUNS 4
#define SEGMENTS  0x100000000ull
#define KEPT	  "train.py:10 main"
#define LOADED	  "train.py:20 load < train.py:11 main"
#define GROWN	  "train.py:30 grow < train.py:12 main"
#define RACED	  "train.py:40 race < train.py:13 main"

/* One recording: bytes at each line, 0: the line makes nothing. */
struct made {
	const char *path;
	uint64_t kept, loaded, grown, raced;
	unsigned nr_segments;
	const char *ended; /* NULL: exit 0 */
};

static void make_block(struct builder_db *b, const char *python, uint64_t size)
{
	if (size)
		build_alloc(b, &(struct build_event){ .size = size, .python = python });
}

static void make(const struct made *made)
{
	struct builder_db *b;

	unlink(made->path);
	b = build_open(made->path);
	build_run(b, "ended", made->ended ? made->ended : "exit 0");
	for (unsigned i = 0; i < made->nr_segments; i++) {
		build_segment_at(b, (i + 1) * SEGMENTS, 20 * VT_MIB);
		build_free(b, build_block_at(b, (i + 1) * SEGMENTS, 512), NULL);
	}
	if (made->nr_segments)
		build_block_at(b, SEGMENTS, made->kept);
	else
		make_block(b, KEPT, made->kept);
	make_block(b, LOADED, made->loaded);
	make_block(b, GROWN, made->grown);
	make_block(b, RACED, made->raced);
	build_close(b);
}

static const struct vt_diff_options options = { .when = "most-allocated",
						.device = VT_WHEN_ALL_DEVICES,
						.by = VT_CHANGES_BY_STACK,
						.top = 10 };

/* Lists end with a path that is NULL. */
static void compare(struct vt_diff *diff, const struct made *base, const struct made *new)
{
	const char *paths[VT_DIFF_SIDES][MOST_RUNS];
	const struct made *made[VT_DIFF_SIDES] = { base, new };
	struct vt_diff_paths sides[VT_DIFF_SIDES];
	struct vt_diag diag = { 0 };

	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		sides[side] = (struct vt_diff_paths){ paths[side], 0 };
		for (; made[side]->path; made[side]++) {
			make(made[side]);
			paths[side][sides[side].nr++] = made[side]->path;
		}
	}
	assert_int_equal(vt_diff_init_sides(diff, sides, &options, &diag), 0);
	assert_int_equal(diff->nr_devices, 1);
}

static int is_exceeded(const struct vt_diff *diff, const char *text)
{
	struct vt_fail_on threshold;
	uint64_t bytes[VT_DIFF_SIDES];

	assert_null(vt_fail_on_parse(&threshold, text));
	return vt_fail_on_is_exceeded(&threshold, diff, &diff->devices[0], bytes);
}

static void equal_runs_differ_by_noise(void **state)
{
	const struct made base[] = { { "b1", .kept = VT_GIB, .loaded = 3 * VT_MIB },
				     { "b2", .kept = VT_GIB, .loaded = 1 * VT_MIB },
				     { "b3", .kept = VT_GIB, .loaded = 2 * VT_MIB },
				     { 0 } };
	const struct made new[] = { { "n1", .kept = VT_GIB, .loaded = 4 * VT_MIB },
				    { "n2", .kept = VT_GIB, .loaded = 4 * VT_MIB },
				    { 0 } };
	struct vt_diff diff;

	(void)state;
	compare(&diff, base, new);
	/* The base's median is its third. */
	assert_ptr_equal(diff.sides[VT_DIFF_BASE], &diff.recordings[VT_DIFF_BASE][2]);
	assert_int_equal(diff.devices[0].allocated_noise_bytes, 2 * VT_MIB);
	assert_int_equal(diff.devices[0].spread_bytes, 2 * VT_MIB);
	assert_int_equal(diff.devices[0].changes.nr, 1);
	assert_int_equal(diff.devices[0].changes.items[0].noise_bytes, 2 * VT_MIB);
	assert_false(vt_diff_is_different(&diff));
	assert_false(is_exceeded(&diff, "any"));
	assert_false(is_exceeded(&diff, "total:+0"));
	assert_false(is_exceeded(&diff, "allocated:+0"));
	vt_diff_release(&diff);
}

static void one_recording_has_no_noise(void **state)
{
	const struct made base[] = { { "b", .kept = VT_GIB, .loaded = 2 * VT_MIB }, { 0 } };
	const struct made new[] = { { "n", .kept = VT_GIB, .loaded = 4 * VT_MIB }, { 0 } };
	struct vt_diff diff;

	(void)state;
	compare(&diff, base, new);
	assert_true(vt_diff_is_different(&diff));
	assert_true(is_exceeded(&diff, "allocated:+0"));
	assert_false(vt_diff_has_several(&diff));
	vt_diff_release(&diff);
}

/* Each figure by its own noise: what one line does says nothing of another. */
static void a_change_beside_noise_is_one(void **state)
{
	const struct made base[] = {
		{ "b1", .kept = VT_GIB, .loaded = 8 * VT_MIB, .grown = VT_MIB },
		{ "b2", .kept = VT_GIB, .loaded = 1 * VT_MIB, .grown = VT_MIB },
		{ 0 }
	};
	const struct made new[] = {
		{ "n1", .kept = VT_GIB, .loaded = 1 * VT_MIB, .grown = 3 * VT_MIB },
		{ "n2", .kept = VT_GIB, .loaded = 8 * VT_MIB, .grown = 3 * VT_MIB },
		{ 0 }
	};
	const struct vt_changes *changes;
	struct vt_diff diff;

	(void)state;
	compare(&diff, base, new);
	changes = &diff.devices[0].changes;
	assert_true(vt_diff_is_different(&diff));
	assert_int_equal(changes->nr, 1);
	assert_int_equal(changes->items[0].bytes[VT_DIFF_NEW] -
				 changes->items[0].bytes[VT_DIFF_BASE],
			 2 * VT_MIB);
	assert_int_equal(changes->items[0].noise_bytes, 0);
	/* The sum is within what equal runs differ by. */
	assert_false(is_exceeded(&diff, "allocated:+0"));
	vt_diff_release(&diff);
}

/* A line that the representative did not run, and its equals did. */
static void a_place_of_some_of_the_runs_is_noise(void **state)
{
	const struct made base[] = { { "b1", .kept = VT_GIB },
				     { "b2", .kept = VT_GIB },
				     { "b3", .kept = VT_GIB, .raced = VT_MIB },
				     { 0 } };
	const struct made new[] = { { "n1", .kept = VT_GIB, .raced = VT_MIB }, { 0 } };
	struct vt_diff diff;

	(void)state;
	compare(&diff, base, new);
	assert_int_equal(diff.devices[0].changes.nr, 1);
	assert_int_equal(diff.devices[0].changes.items[0].noise_bytes, VT_MIB);
	assert_false(vt_diff_is_different(&diff));
	vt_diff_release(&diff);
}

/* Else a run that was killed would hide whatever the others took more. */
static void a_run_that_failed_is_no_noise(void **state)
{
	const struct made base[] = { { "b1", .kept = VT_MIB, .ended = "signal 9" },
				     { "b2", .kept = VT_GIB },
				     { 0 } };
	const struct made new[] = { { "n1", .kept = VT_GIB + VT_MIB },
				    { "n2", .kept = VT_MIB, .ended = "signal 9" },
				    { "n3", .kept = VT_MIB, .ended = "exit 1" },
				    { 0 } };
	struct vt_diff diff;
	char *why;

	(void)state;
	compare(&diff, base, new);
	assert_ptr_equal(diff.sides[VT_DIFF_BASE], &diff.recordings[VT_DIFF_BASE][1]);
	assert_ptr_equal(diff.sides[VT_DIFF_NEW], &diff.recordings[VT_DIFF_NEW][0]);
	assert_int_equal(diff.devices[0].spread_bytes, 0);
	assert_true(is_exceeded(&diff, "allocated:+0"));
	why = vt_diff_incomplete(&diff, VT_DIFF_NEW);
	assert_non_null(strstr(why, "n2"));
	assert_true(vt_diff_is_new_failed(&diff));
	free(why);
	vt_diff_release(&diff);
}

/* A user or a scheduler ended it. */
static void an_interruption_is_no_kill(void **state)
{
	static const struct {
		const char *ended, *text;
	} cases[] = { { "signal 2", "the new run was interrupted: " },
		      { "signal 15", "the new run was terminated: " },
		      { "signal 9", "the new run was killed: " } };

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		const struct made base[] = { { "b", .kept = VT_GIB }, { 0 } };
		const struct made new[] = { { "n", .kept = VT_GIB, .ended = cases[i].ended },
					    { 0 } };
		struct vt_diff diff;
		char *why;

		compare(&diff, base, new);
		why = vt_diff_incomplete(&diff, VT_DIFF_NEW);
		assert_non_null(strstr(why, cases[i].text));
		free(why);
		vt_diff_release(&diff);
	}
}

static void nothing_ended_well(void **state)
{
	const struct made base[] = { { "b", .kept = VT_GIB }, { 0 } };
	const struct made new[] = { { "n1", .kept = VT_GIB, .ended = "exit 1" },
				    { "n2", .kept = VT_MIB, .ended = "exit 1" },
				    { "n3", .kept = 2 * VT_MIB, .ended = "exit 1" },
				    { 0 } };
	struct vt_diff diff;
	char *why;

	(void)state;
	compare(&diff, base, new);
	assert_ptr_equal(diff.sides[VT_DIFF_NEW], &diff.recordings[VT_DIFF_NEW][2]);
	why = vt_diff_incomplete(&diff, VT_DIFF_NEW);
	assert_non_null(strstr(
		why, "the new run ended with an error: its figures cover only the part that ran"));
	assert_true(vt_diff_is_new_failed(&diff));
	free(why);
	vt_diff_release(&diff);
}

/* Their program's end is not known; nothing says that they failed. */
static void recordings_of_a_moment_have_noise(void **state)
{
	const struct made base[] = {
		{ "b1", .kept = VT_GIB, .loaded = 3 * VT_MIB, .ended = "snapshot" },
		{ "b2", .kept = VT_GIB, .loaded = VT_MIB, .ended = "frozen" },
		{ 0 }
	};
	const struct made new[] = {
		{ "n1", .kept = VT_GIB, .loaded = 3 * VT_MIB, .ended = "snapshot" },
		{ "n2", .kept = VT_GIB, .loaded = 3 * VT_MIB, .ended = "frozen" },
		{ 0 }
	};
	struct vt_diff diff;

	(void)state;
	compare(&diff, base, new);
	assert_int_equal(diff.devices[0].spread_bytes, 2 * VT_MIB);
	assert_false(is_exceeded(&diff, "total:+0"));
	assert_false(vt_diff_is_new_failed(&diff));
	vt_diff_release(&diff);
}

/* Where blocks come to lie depends on threads; a segment more without a byte more is no growth. */
static void a_segment_more_is_no_growth(void **state)
{
	const struct made one[] = { { "b", .kept = VT_MIB, .nr_segments = 1 }, { 0 } };
	const struct made two[] = { { "n", .kept = VT_MIB, .nr_segments = 2 }, { 0 } };
	const struct made three[] = { { "n", .kept = VT_MIB, .nr_segments = 3 }, { 0 } };
	const struct made more[] = { { "n", .kept = VT_MIB + 512, .nr_segments = 2 }, { 0 } };
	struct vt_diff diff;

	(void)state;
	compare(&diff, one, two);
	assert_int_equal(diff.devices[0].peak_bytes[1] - diff.devices[0].peak_bytes[0],
			 20 * VT_MIB);
	assert_false(is_exceeded(&diff, "total:+0"));
	assert_false(vt_diff_is_different(&diff));
	vt_diff_release(&diff);
	compare(&diff, one, three);
	assert_true(is_exceeded(&diff, "total:+0"));
	vt_diff_release(&diff);
	compare(&diff, one, more);
	assert_true(is_exceeded(&diff, "total:+0"));
	vt_diff_release(&diff);
}

/* A block is what was asked for, and what was too little to be cut off the one that it got. */
static void make_uncut(const char *path, uint64_t first, uint64_t second, uint64_t asked)
{
	struct builder_db *b = build_open(path);

	build_run(b, "ended", "exit 0");
	build_alloc(b, &(struct build_event){
			       .size = first, .requested = 9 * VT_MIB, .python = KEPT });
	build_alloc(b, &(struct build_event){
			       .size = second, .requested = asked, .python = LOADED });
	build_close(b);
}

static void what_is_not_cut_off_is_no_change(void **state)
{
	struct vt_diag diag = { 0 };
	struct vt_diff diff;

	(void)state;
	make_uncut("b", 9 * VT_MIB + 900 * VT_KIB, 2 * VT_MIB, 2 * VT_MIB);
	make_uncut("n", 9 * VT_MIB, 2 * VT_MIB + 1000 * VT_KIB, 2 * VT_MIB);
	assert_int_equal(vt_diff_init(&diff, "b", "n", &options, &diag), 0);
	assert_int_equal(diff.devices[0].changes.nr, 2);
	assert_true(diff.devices[0].most_allocated_bytes[1] >
		    diff.devices[0].most_allocated_bytes[0]);
	assert_false(vt_diff_is_different(&diff));
	assert_false(is_exceeded(&diff, "any"));
	assert_false(is_exceeded(&diff, "allocated:+0"));
	assert_false(is_exceeded(&diff, "owner:unknown:+0"));
	vt_diff_release(&diff);
	/* What is asked for besides is one. */
	make_uncut("m", 9 * VT_MIB, 2 * VT_MIB, 2 * VT_MIB);
	make_uncut("k", 9 * VT_MIB, 2 * VT_MIB + 512, 2 * VT_MIB + 512);
	assert_int_equal(vt_diff_init(&diff, "m", "k", &options, &diag), 0);
	assert_true(is_exceeded(&diff, "any"));
	assert_true(is_exceeded(&diff, "allocated:+0"));
	vt_diff_release(&diff);
}

/* SQLite's shared lock: what keeps the last writer from deleting a log that is read. */
#define SHARED_FIRST 0x40000002
#define SHARED_BYTES 510

/* Of any other process; its own locks are none to it. */
static int is_locked(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SHARED_FIRST,
			      .l_len = SHARED_BYTES };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

/* Another process that writes, and says 'l' at a byte that it is sent if somebody else reads. */
static int start_writer(const char *path)
{
	struct vt_db *db = NULL;
	int ends[2];
	char byte = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	if (fork()) {
		close(ends[1]);
		assert_int_equal(read(ends[0], &byte, 1), 1);
		assert_int_equal(byte, 'w');
		return ends[0];
	}
	close(ends[0]);
	if (!vt_db_open(&db, path, VT_DB_WRITE, NULL) && !vt_db_run_set(db, "a", "1"))
		byte = 'w';
	while (write(ends[1], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1)
		byte = is_locked(path) ? 'l' : 'f';
	_exit(0);
}

static int says_locked(int writer)
{
	char byte = 'q';

	assert_int_equal(write(writer, &byte, 1), 1);
	assert_int_equal(read(writer, &byte, 1), 1);
	return byte == 'l';
}

static void a_recording_against_itself_keeps_its_lock(void **state)
{
	const struct made of[] = { { "n", .kept = VT_GIB }, { 0 } };
	struct vt_diag diag = { 0 };
	struct vt_diff diff;
	int writer;

	(void)state;
	make(of);
	assert_int_equal(symlink("n", "link"), 0);
	writer = start_writer("n");
	assert_false(says_locked(writer));
	assert_int_equal(vt_diff_init(&diff, "n", "link", &options, &diag), 0);
	assert_true(says_locked(writer));
	assert_int_equal(diff.devices[0].changes.nr, 0);
	assert_false(vt_diff_is_different(&diff));
	vt_diff_release(&diff);
	close(writer);
	wait(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_runs_differ_by_noise, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(one_recording_has_no_noise, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(a_change_beside_noise_is_one, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(a_place_of_some_of_the_runs_is_noise, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(a_run_that_failed_is_no_noise, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(an_interruption_is_no_kill, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(nothing_ended_well, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(recordings_of_a_moment_have_noise, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(a_segment_more_is_no_growth, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(what_is_not_cut_off_is_no_change, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(a_recording_against_itself_keeps_its_lock,
						unit_enter, unit_leave),
	};

	return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
