/* SPDX-License-Identifier: MIT */
/* libvtrace.so under the programs of program.c: what they see (nothing), and what was recorded. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/sys.h"
#include "tests/preload/collector.h"
#include "tests/preload/driver.h"
#include "tests/preload/program.h"
#include "tests/preload/walk.h"

#define LINKED TEST_FOLDER "/program_linked"
#define FOUND TEST_FOLDER "/program"
#define SECOND TEST_FOLDER "/libsecond.so"
#define CHAINED TEST_FOLDER "/libchained.so"
#define THIRD TEST_FOLDER "/libthird1.so:" TEST_FOLDER "/libthird2.so"
#define WITH_COLLECTOR TEST_FOLDER "/with_collector/libvtrace.so"

/* Ids of cuda_api.def. */
enum {
	ALLOC = 1,
	PITCH = 2,
	MANAGED = 3,
	FREE = 4,
	ALLOC_PTSZ = 6,
	CREATE = 11,
	HOST = 18,
	INFO = 23,
	ARRAY = 38,
	ARRAY_3D = 39,
	ARRAY_DESTROY = 40,
	MIPMAPPED = 41,
	CONTEXT_CREATE = 45,
	CONTEXT_DESTROY = 49,
	PRIMARY_RETAIN = 50,
	PRIMARY_RELEASE = 52,
	PRIMARY_RESET = 54,
};

static struct {
	char directory[64];
	char said[8192];	/* what the program and the recorder wrote on stderr */
} g;

static int set_up(void **state)
{
	(void)state;
	strcpy(g.directory, "/tmp/vtrace-recorder-XXXXXX");
	if (!mkdtemp(g.directory) || chdir(g.directory))
		return -1;
	setenv("VTRACE_OUTPUT", "run.db", 1);
	setenv("VTRACE_COLLECT", "0", 1);
	unsetenv("VTRACE_QUIET");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "cd / && rm -r %s", g.directory);
	return system(command);
}

/*
 * Runs a scenario under the preloaded libraries; returns its wait status, its stderr is in g.said.
 */
static int run_under(const char *preload, const char *program, const char *scenario)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		setenv("LD_LIBRARY_PATH", TEST_FOLDER, 1);
		setenv("LD_PRELOAD", preload, 1);
		if (!freopen("stderr", "w", stderr))
			_exit(97);
		execl(program, program, scenario, NULL);
		_exit(96);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	vt_sys_read_file("stderr", g.said, sizeof(g.said));
	return status;
}

static void run(const char *program, const char *scenario)
{
	if (run_under(TEST_LIBRARY, program, scenario) != 0)
		fail_msg("%s: %s", scenario, g.said);
}

static unsigned int count_files(const char *pattern)
{
	glob_t found = { 0 };
	unsigned int nr;

	glob(pattern, 0, NULL, &found);
	nr = (unsigned int)found.gl_pathc;
	globfree(&found);
	return nr;
}

static void check_allocate_and_free(const char *path)
{
	struct vt_event_record first;
	struct vt_event_record last;
	struct vt_event_record sample;
	struct walk walk;

	walk_open(&walk, path);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 5);
	first = walk_event(&walk, ALLOC, 0);
	last = walk_event(&walk, FREE, 1);
	sample = walk_event(&walk, INFO, 0);
	assert_int_equal(first.op, VT_OP_ALLOC);
	assert_int_equal(first.kind, VT_KIND_SEGMENT);
	assert_int_equal(first.size_bytes, 1001);
	assert_int_equal(first.device, 0);
	assert_int_equal(last.op, VT_OP_FREE);
	assert_int_equal(last.address, first.address);
	assert_true(first.native_stack && first.native_stack != last.native_stack);
	assert_int_equal(sample.extra, DRIVER_FREE_BYTES);
	assert_int_equal(sample.size_bytes, DRIVER_TOTAL_BYTES);
	assert_int_equal(walk_count(&walk, VT_RECORD_DEVICE), 1);
	assert_int_equal(walk_header(&walk)->state, VT_JOURNAL_EXITING);
	assert_int_equal(walk.nr_torn, 0);
	walk_close(&walk);
}

static void linked_program_is_recorded(void **state)
{
	(void)state;
	run(LINKED, "allocate_and_free");
	check_allocate_and_free("run.journal");
	assert_non_null(strstr(g.said, "vtrace: 5 events, 0 lost; run.journal\n"));
	assert_non_null(strstr(g.said, "vtrace: next: vtrace report run.journal\n"));
}

static void looked_up_driver_is_recorded(void **state)
{
	(void)state;
	run(FOUND, "allocate_and_free");
	check_allocate_and_free("run.journal");
}

static void look_ups(void **state)
{
	struct walk walk;

	(void)state;
	run(FOUND, "look_ups_yield_hooks");
	run(LINKED, "look_ups_yield_hooks");
	assert_int_equal(count_files("*.journal"), 0);
	run(FOUND, "look_up_looks_itself_up");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_event(&walk, ALLOC_PTSZ, 0).size_bytes, 1003);
	walk_close(&walk);
	/* The look-up that the program is linked to finds everything without dlsym. */
	run(LINKED, "look_up_looks_itself_up");
}

static void refused_calls(void **state)
{
	struct vt_event_record event;
	struct walk walk;

	(void)state;
	run(FOUND, "refusals");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_event(&walk, ALLOC, 0).size_bytes, 1001);
	assert_int_equal(walk_event(&walk, FREE, 0).op, VT_OP_FREE);
	event = walk_event(&walk, FREE, 1);
	assert_int_equal(event.op, VT_OP_FREE_FAILED);
	assert_int_equal(event.address, DRIVER_BAD_ADDRESS);
	assert_int_equal(event.extra, 1);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 4);
	walk_close(&walk);
}

static void errno_is_untouched(void **state)
{
	(void)state;
	run(FOUND, "errno_is_the_driver_s");
	run(LINKED, "errno_is_the_driver_s");
}

static void sizes_and_devices(void **state)
{
	struct walk walk;

	(void)state;
	run(FOUND, "shapes");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_event(&walk, PITCH, 0).size_bytes, 1024 * 7);
	/* The driver called its own export inside: one event. */
	assert_int_equal(walk_event(&walk, MANAGED, 0).kind, VT_KIND_MANAGED);
	assert_int_equal(walk_event(&walk, CREATE, 0).device, 5);
	assert_int_equal(walk_event(&walk, CREATE, 1).device, -1);
	assert_int_equal(walk_event(&walk, HOST, 0).kind, VT_KIND_PINNED);
	assert_int_equal(walk_count(&walk, VT_RECORD_DEVICE), 2);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 6);
	walk_close(&walk);
}

static void arrays_are_their_elements(void **state)
{
	struct vt_event_record event;
	struct walk walk;

	(void)state;
	run(FOUND, "arrays");
	walk_open(&walk, "run.journal");
	event = walk_event(&walk, ARRAY, 0);
	assert_int_equal(event.kind, VT_KIND_ARRAY);
	assert_int_equal(event.size_bytes, 100 * 7 * 2 * 2);
	assert_int_equal(event.device, 0);
	assert_int_equal(event.extra, (uintptr_t)DRIVER_CONTEXT);
	assert_int_equal(walk_event(&walk, ARRAY_DESTROY, 0).address, event.address);
	assert_int_equal(walk_event(&walk, ARRAY_3D, 0).size_bytes, 64 * 32 * 4 * 16);
	assert_int_equal(walk_event(&walk, ARRAY_3D, 1).size_bytes, 0);
	assert_int_equal(walk_event(&walk, MIPMAPPED, 0).size_bytes,
			 64 * 32 * 4 * 16 * (16 + 4 + 1) / 16);
	walk_close(&walk);
}

static void the_first_context_on_one_of_several_devices_is_recorded(void **state)
{
	struct vt_event_record event;
	struct walk walk;

	(void)state;
	run(FOUND, "several");
	walk_open(&walk, "run.journal");
	event = walk_event(&walk, PRIMARY_RETAIN, 0);
	assert_int_equal(event.op, VT_OP_CREATE);
	assert_int_equal(event.device, 1);
	assert_int_not_equal(event.native_stack, 0);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 1);
	/* Described, so that others can be asked what is in use on it. */
	assert_int_equal(walk_count(&walk, VT_RECORD_DEVICE), 1);
	walk_close(&walk);
}

static void contexts_end_with_their_last_reference(void **state)
{
	struct vt_event_record event;
	struct walk walk;

	(void)state;
	run(FOUND, "contexts");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_event(&walk, ALLOC, 0).extra, (uintptr_t)DRIVER_CONTEXT);
	event = walk_event(&walk, CONTEXT_CREATE, 0);
	assert_int_equal(event.op, VT_OP_CREATE);
	assert_int_equal(event.device, 3);
	assert_int_equal(event.address, (uintptr_t)DRIVER_OTHER_CONTEXT);
	assert_int_equal(walk_event(&walk, CONTEXT_DESTROY, 0).op, VT_OP_DESTROY);
	assert_int_equal(walk_event(&walk, CONTEXT_DESTROY, 1).op, VT_OP_DESTROY);
	event = walk_event(&walk, CONTEXT_DESTROY, 2);
	assert_int_equal(event.op, VT_OP_FREE_FAILED);
	assert_int_equal(event.address, (uintptr_t)DRIVER_CONTEXT);
	/* Two references: one end. */
	assert_int_equal(walk_event(&walk, PRIMARY_RELEASE, 0).address, (uintptr_t)DRIVER_CONTEXT);
	/* A reset ends it whatever holds it; this one was refused. */
	assert_int_equal(walk_event(&walk, PRIMARY_RETAIN, 0).op, VT_OP_CREATE);
	assert_int_equal(walk_event(&walk, PRIMARY_RESET, 0).op, VT_OP_DESTROY);
	assert_int_equal(walk_event(&walk, PRIMARY_RESET, 1).op, VT_OP_FREE_FAILED);
	assert_int_equal(walk_event(&walk, PRIMARY_RELEASE, 1).op, VT_OP_DESTROY);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 11);
	walk_close(&walk);
}

static void program_without_a_driver_is_left_alone(void **state)
{
	(void)state;
	run(FOUND, "no_driver");
	assert_string_equal(g.said, "");
	assert_int_equal(count_files("*"), 1);
	assert_int_equal(run_under(TEST_LIBRARY, "/bin/true", ""), 0);
	assert_string_equal(g.said, "");
	assert_int_equal(count_files("*"), 1);
}

static void rtld_next_keeps_its_caller(void **state)
{
	(void)state;
	if (run_under(TEST_LIBRARY ":" THIRD, FOUND, "next_depends_on_the_caller") != 0)
		fail_msg("%s", g.said);
}

static void driver_libraries_get_the_driver(void **state)
{
	(void)state;
	run(FOUND, "driver_callers_get_the_real_thing");
}

static void library_behind_us_is_not_skipped(void **state)
{
	struct walk walk;

	(void)state;
	assert_int_equal(run_under(TEST_LIBRARY ":" SECOND, FOUND, "second_library_is_asked"), 0);
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 2);
	walk_close(&walk);
	assert_int_equal(
		run_under(TEST_LIBRARY ":" CHAINED, LINKED, "chained_library_is_asked"), 0);
	walk_open(&walk, "run-2.journal");
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 2);
	walk_close(&walk);
	assert_int_equal(
		WEXITSTATUS(run_under(TEST_LIBRARY ":" CHAINED, LINKED, "chained_library_ends")),
		7);
}

/* Before us, behind us, on both sides. */
static void chaining_libraries_are_chained(void **state)
{
	static const char *const orders[] = {
		TEST_FOLDER "/libfirst.so:" TEST_LIBRARY,
		TEST_LIBRARY ":" TEST_FOLDER "/libfirst.so",
		TEST_FOLDER "/libfirst.so:" TEST_LIBRARY ":" SECOND,
	};
	static const char *const journals[] = { "run.journal", "run-2.journal", "run-3.journal" };
	struct walk walk;

	(void)state;
	for (int i = 0; i < 3; i++) {
		if (run_under(orders[i], FOUND, "chaining_library_is_asked") != 0)
			fail_msg("%s: %s", orders[i], g.said);
		walk_open(&walk, journals[i]);
		assert_int_equal(walk_event(&walk, ALLOC, 0).size_bytes, 1001);
		assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 3);
		walk_close(&walk);
	}
}

static void a_hook_is_never_wrapped_again(void **state)
{
	struct walk walk;

	(void)state;
	if (run_under(TEST_LIBRARY ":" TEST_FOLDER "/libhooks.so", FOUND,
		      "hooks_are_not_wrapped_again") != 0)
		fail_msg("%s", g.said);
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 3);
	walk_close(&walk);
}

/* Linked to the driver or not, bound early or late: the same functions are called. */
static void deeply_bound_library_is_recorded(void **state)
{
	static const char *const programs[] = { FOUND, LINKED };
	static const char *const journals[] = { "run.journal", "run-2.journal" };
	struct walk walk;

	(void)state;
	for (int i = 0; i < 2; i++) {
		run(programs[i], "deeply_bound_libraries_are_seen");
		walk_open(&walk, journals[i]);
		for (unsigned int nr = 0; nr < 4; nr++)
			assert_int_equal(walk_event(&walk, ALLOC, nr).size_bytes, 1001 + nr);
		/* And what is asked once about the device. */
		assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 9);
		walk_close(&walk);
	}
}

static void libraries_are_opened_in_the_caller_s_name(void **state)
{
	(void)state;
	run(FOUND, "opener_s_own_path_is_searched");
}

static void driver_is_pinned(void **state)
{
	(void)state;
	run(FOUND, "driver_stays_loaded");
}

static void recording_goes_on_after_a_jump(void **state)
{
	struct walk walk;

	(void)state;
	run(FOUND, "hook_is_left_by_a_jump");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_event(&walk, ALLOC, 1).size_bytes, 1002);
	walk_close(&walk);
}

static void threads_lose_nothing(void **state)
{
	struct walk walk;

	(void)state;
	run(LINKED, "threads");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_count_changes(&walk), 2 * PROGRAM_THREADS * PROGRAM_PER_THREAD);
	assert_int_equal(walk.nr_torn, 0);
	assert_int_equal(walk_header(&walk)->lost_events, 0);
	walk_close(&walk);
}

static void foreign_descriptors_are_safe(void **state)
{
	struct walk walk;

	(void)state;
	run(LINKED, "descriptors_are_not_ours");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_count_changes(&walk), 2 * PROGRAM_THREADS * PROGRAM_PER_THREAD + 1);
	walk_close(&walk);
}

static void check_child(const char *path, uint64_t first_size, unsigned int nr_events)
{
	struct walk walk;

	walk_open(&walk, path);
	assert_int_equal(walk_event(&walk, ALLOC, 0).size_bytes, first_size);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), nr_events);
	/* Facts and definitions are the child's own, not left to its parent's journal. */
	assert_non_null(walk_info(&walk, "command"));
	assert_true(walk_count(&walk, VT_RECORD_MODULE) > 2);
	assert_true(walk_count(&walk, VT_RECORD_NATIVE_STACK) >= 1);
	assert_int_equal(walk_count(&walk, VT_RECORD_DEVICE), 1);
	walk_close(&walk);
}

static void fork_children_have_their_own(void **state)
{
	(void)state;
	run(LINKED, "children");
	assert_int_equal(count_files("*.journal"), 3);
	check_child("run.journal", 1001, 3);
	check_child("run-2.journal", 2001, 3);
	check_child("run-3.journal", 3001, 2);
}

static void next_program_has_its_own(void **state)
{
	struct walk walk;

	(void)state;
	run(LINKED, "next_program");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_header(&walk)->state, VT_JOURNAL_RECORDING);
	walk_close(&walk);
	check_allocate_and_free("run-2.journal");
}

static void existing_database_is_not_overwritten(void **state)
{
	(void)state;
	assert_int_equal(system("echo mine > run.db"), 0);
	run(LINKED, "allocate_and_free");
	assert_int_equal(count_files("run.journal"), 0);
	check_allocate_and_free("run-2.journal");
}

static void unwritable_place_is_said_once(void **state)
{
	const char *first;

	(void)state;
	setenv("VTRACE_OUTPUT", "missing/run.db", 1);
	run(LINKED, "threads");
	first = strstr(g.said, "vtrace: not recording; the program continues: ");
	assert_non_null(first);
	assert_non_null(strstr(first, "missing/run.journal: No such file or directory\n"));
	assert_null(strstr(first + 1, "vtrace: not recording"));
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	run(LINKED, "address_space_is_short");
	assert_string_equal(g.said, "vtrace: not recording; the program continues: "
				    "Cannot allocate memory\n");
	assert_int_equal(count_files("*.journal"), 0);
}

static void address_space_is_the_program_s(void **state)
{
	(void)state;
	run(LINKED, "address_space_is_left");
	assert_int_equal(count_files("run.journal"), 1);
}

static void address_space_is_taken_only_as_needed(void **state)
{
	(void)state;
	run(LINKED, "address_space_is_taken_as_needed");
	assert_int_equal(count_files("run.journal"), 1);
}

static void closing_lines_that_nobody_reads_kill_nobody(void **state)
{
	(void)state;
	run(LINKED, "nobody_reads_stderr");
	assert_int_equal(count_files("run.journal"), 1);
}

static void named_moments(void **state)
{
	struct walk walk;

	(void)state;
	run(LINKED, "marks");
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_count(&walk, VT_RECORD_MARK), 3);
	assert_int_equal(walk_count(&walk, VT_RECORD_STRING), 2);
	assert_non_null(strstr(g.said, "vtrace: 6 events"));
	walk_close(&walk);
}

static void ends(void **state)
{
	struct walk walk;

	(void)state;
	assert_int_equal(WEXITSTATUS(run_under(TEST_LIBRARY, LINKED, "status_three")), 3);
	walk_open(&walk, "run.journal");
	assert_int_equal(walk_header(&walk)->has_exit_status, 1);
	assert_int_equal(walk_header(&walk)->exit_status, 3);
	walk_close(&walk);

	assert_true(WIFSIGNALED(run_under(TEST_LIBRARY, LINKED, "unseen_end")));
	walk_open(&walk, "run-2.journal");
	assert_int_equal(walk_header(&walk)->state, VT_JOURNAL_RECORDING);
	assert_int_equal(walk_count(&walk, VT_RECORD_EVENT), 2);
	walk_close(&walk);
}

static void closing_lines_stay_out_of_other_files(void **state)
{
	char text[64];

	(void)state;
	run(LINKED, "other_stderr");
	assert_string_equal(g.said, "");
	assert_int_equal(vt_sys_read_file("own-stderr", text, sizeof(text)), 0);
	setenv("VTRACE_QUIET", "1", 1);
	run(LINKED, "allocate_and_free");
	assert_string_equal(g.said, "");
}

static void collector_is_nobody_s_child(void **state)
{
	char text[256];

	(void)state;
	setenv("VTRACE_COLLECT", "1", 1);
	assert_int_equal(run_under(WITH_COLLECTOR, LINKED, "no_child_of_ours"), 0);
	assert_true(vt_sys_read_file("run.journal.started", text, sizeof(text)) > 0);
	assert_string_equal(text, "3 collect 1 0 alone configured\n");
	/* The end waited for it and tells what it found. */
	assert_non_null(strstr(g.said, "vtrace: 2 events, 0 lost; peak 1.50 GiB on cuda:1; "
				       "run.db\nvtrace: next: vtrace report run.db"
				       " | vtrace html run.db\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(linked_program_is_recorded),
		TEST(looked_up_driver_is_recorded),
		TEST(look_ups),
		TEST(refused_calls),
		TEST(errno_is_untouched),
		TEST(sizes_and_devices),
		TEST(arrays_are_their_elements),
		TEST(the_first_context_on_one_of_several_devices_is_recorded),
		TEST(contexts_end_with_their_last_reference),
		TEST(program_without_a_driver_is_left_alone),
		TEST(rtld_next_keeps_its_caller),
		TEST(driver_libraries_get_the_driver),
		TEST(library_behind_us_is_not_skipped),
		TEST(chaining_libraries_are_chained),
		TEST(a_hook_is_never_wrapped_again),
		TEST(deeply_bound_library_is_recorded),
		TEST(libraries_are_opened_in_the_caller_s_name),
		TEST(driver_is_pinned),
		TEST(recording_goes_on_after_a_jump),
		TEST(threads_lose_nothing),
		TEST(foreign_descriptors_are_safe),
		TEST(fork_children_have_their_own),
		TEST(next_program_has_its_own),
		TEST(existing_database_is_not_overwritten),
		TEST(unwritable_place_is_said_once),
		TEST(missing_memory_is_said),
		TEST(address_space_is_the_program_s),
		TEST(address_space_is_taken_only_as_needed),
		TEST(closing_lines_that_nobody_reads_kill_nobody),
		TEST(named_moments),
		TEST(ends),
		TEST(closing_lines_stay_out_of_other_files),
		TEST(collector_is_nobody_s_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
