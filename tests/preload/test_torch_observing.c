/* SPDX-License-Identifier: MIT */
/* When operators are observed, with a clock, a device and a PyTorch of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Its state is that of a process: each test starts it anew. */
#include "preload/torch_observing.c"

#define SECOND 1000000000ull

static struct {
	uint64_t now_ns;
	int is_simulated, is_recording, is_on;
	enum vt_torch_layout layout;
	uint32_t nr_switches;
	const char *fact;
	struct vt_journal_header header;
} t;

uint32_t vt_thread_newest;
_Thread_local struct vt_thread vt_thread_here;

void vt_thread_begin(struct vt_thread *thread, uint32_t generation)
{
	thread->generation = generation;
}

uint64_t vt_sys_now_ns(int clock)
{
	(void)clock;
	return t.now_ns;
}

int vt_real_is_known(enum vt_real_function function)
{
	assert_int_equal(function, VT_REAL_vts_is_simulated);
	return t.is_simulated;
}

struct vt_journal_header *vt_journal_header(void)
{
	return &t.header;
}

int vt_journal_is_recording(void)
{
	return t.is_recording;
}

enum vt_torch_layout vt_torch_values_layout(void)
{
	return t.layout;
}

void vt_info_once(const char *key, const char *value)
{
	assert_string_equal(key, "operators");
	t.fact = value;
}

static void disable(uint64_t handle)
{
	assert_int_equal(handle, 7);
	t.is_on = 0;
	t.nr_switches++;
}

static void enable(uint64_t handle)
{
	assert_int_equal(handle, 7);
	t.is_on = 1;
	t.nr_switches++;
}

static int start(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	memset(&t, 0, sizeof(t));
	t.is_recording = t.is_on = t.is_simulated = 1;
	t.layout = VT_TORCH_LAYOUT_PROVEN;
	vt_torch_observing_start(7, disable, enable);
	return 0;
}

/* Operators from one stack, while the observer is on.  Returns how many of them. */
static uint32_t run(uint32_t nr, uint32_t python_stack)
{
	uint32_t nr_recorded = 0;

	for (uint32_t i = 0; i < nr && t.is_on; i++)
		if (vt_torch_observing_count(python_stack)) {
			vt_torch_observing_count_record();
			nr_recorded++;
		}
	return nr_recorded;
}

static void step(void)
{
	vt_torch_observing_note_range_end("Optimizer.step#AdamW.step");
}

static void block(uint32_t python_stack)
{
	vt_torch_observing_note_block(&(struct vt_event_record){ .python_stack = python_stack });
}

static void what_repeats_ends_it_and_what_is_new_begins_it(void **state)
{
	(void)state;
	assert_int_equal(run(QUIET_OPERATORS, 1), QUIET_OPERATORS);
	step();
	assert_int_equal(run(10, 1), 10);
	vt_torch_observing_note_range_end("Optimizer.zero_grad#AdamW.zero_grad");
	assert_int_equal(run(10, 1), 10);
	/* Nothing is cut in two: the step is the end. */
	step();
	assert_false(t.is_on);
	block(1);
	assert_false(t.is_on);
	block(2);
	assert_true(t.is_on);
	/* A new stack in the middle counts anew. */
	assert_int_equal(run(1000, 2) + run(1, 5), 1001);
	step();
	step();
	assert_int_equal(run(2 * QUIET_OPERATORS, 3), 2 * QUIET_OPERATORS);
	step();
	assert_false(t.is_on);
	block(5);
	assert_false(t.is_on);
	block(6);
	assert_true(t.is_on);
	assert_int_equal(t.nr_switches, 4);
}

static void programs_without_steps_are_observed_for_longer(void **state)
{
	(void)state;
	assert_int_equal(run(2 * QUIET_WITHOUT_STEPS, 0), QUIET_WITHOUT_STEPS);
	assert_false(t.is_on);
}

static void steps_may_be_too_long(void **state)
{
	(void)state;
	run(1, 1);
	step();
	assert_int_equal(run(2 * QUIET_IN_STEPS, 1), QUIET_IN_STEPS);
	assert_false(t.is_on);
}

static void there_is_an_end_of_all(void **state)
{
	uint32_t nr = 0;

	(void)state;
	for (uint32_t stack = 1; stack < MOST_RECORDS; stack++)
		nr += run(1000, stack);
	assert_int_equal(nr, MOST_RECORDS);
	assert_false(t.is_on);
	block(MOST_RECORDS + 1);
	assert_false(t.is_on);
	assert_null(t.fact);
}

/* On a real device: the first steps are free, then a thousandth of the time since the start. */
static void time_is_limited_on_a_real_device(void **state)
{
	(void)state;
	t.is_simulated = 0;
	for (uint32_t stack = 1; stack <= 10; stack++)
		run(1000, stack);
	assert_true(t.is_on);
	step();
	step();
	/* 10,000 operators are 20 ms, and those to come 4 ms. */
	run(CHECK_EACH, 20);
	assert_false(t.is_on);
	t.now_ns = 24 * SECOND;
	block(21);
	assert_false(t.is_on);
	t.now_ns = 26 * SECOND;
	block(22);
	assert_true(t.is_on);
	for (uint32_t stack = 23; stack < 10000 && t.is_on; stack++)
		run(1, stack);
	assert_true(LOAD(nr_seen) * (uint64_t)OPERATOR_NS <= t.now_ns / SHARE + SECOND / 1000);
	assert_true(LOAD(nr_seen) * (uint64_t)OPERATOR_NS + SECOND / 1000 > t.now_ns / SHARE);
}

static void free_operators_are_limited_too(void **state)
{
	(void)state;
	t.is_simulated = 0;
	for (uint32_t stack = 1; stack < 2 * FREE_OPERATORS && t.is_on; stack++)
		run(1, stack);
	assert_in_range(LOAD(nr_seen), FREE_OPERATORS, FREE_OPERATORS + CHECK_EACH);
}

static void another_layout_ends_it_and_is_said(void **state)
{
	(void)state;
	t.layout = VT_TORCH_LAYOUT_UNPROVEN;
	publish_known();
	/* Proving needs every block. */
	vt_torch_observing_note_block(&(struct vt_event_record){ .python_stack = 1,
								 .address = 0x1000 });
	assert_int_equal(vt_thread_self()->last_block, 0x1000);
	t.layout = VT_TORCH_LAYOUT_OTHER;
	assert_int_equal(run(1, 1), 0);
	assert_false(t.is_on);
	assert_non_null(t.fact);
	block(2);
	assert_false(t.is_on);
}

/* A fork child that records nothing, or a disk that is full. */
static void without_a_recording_it_ends(void **state)
{
	(void)state;
	t.is_recording = 0;
	assert_int_equal(run(1, 1), 0);
	assert_false(t.is_on);
	start(NULL);
	vt_torch_observing_end();
	assert_false(t.is_on);
	block(9);
	assert_false(t.is_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_repeats_ends_it_and_what_is_new_begins_it, start),
		cmocka_unit_test_setup(programs_without_steps_are_observed_for_longer, start),
		cmocka_unit_test_setup(steps_may_be_too_long, start),
		cmocka_unit_test_setup(there_is_an_end_of_all, start),
		cmocka_unit_test_setup(time_is_limited_on_a_real_device, start),
		cmocka_unit_test_setup(free_operators_are_limited_too, start),
		cmocka_unit_test_setup(another_layout_ends_it_and_is_said, start),
		cmocka_unit_test_setup(without_a_recording_it_ends, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
