/* SPDX-License-Identifier: MIT */
/* When the probe looks: reasons and budget, with a clock and an interpreter of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "preload/config.h"
#include "preload/probe.h"
#include "preload/probe_api.h"
#include "preload/probe_program.h"
#include "preload/probe_records.h"
#include "preload/python_code.h"
#include "preload/sys.h"
#include "preload/thread_state.h"
#include "preload/tracker.h"

#define MS 1000000ull
#define MIB (1ull << 20)

static struct {
	uint64_t now_ns;
	uint64_t cost_ns;	/* of a look */
	uint32_t setting;	/* VTRACE_PROBE */
	int is_active, can_run, is_full;
	enum vt_probe_answer answer;
	int (*pending)(void *);
	uint32_t nr_looks;
	enum vt_probe_scope scope;
	const char *reason;
	uint32_t nr_made;
	struct vt_config config;
	struct vt_probe_api api;
} t;

uint64_t vt_sys_now_ns(int clock)
{
	(void)clock;
	return t.now_ns;
}

uint32_t vt_thread_newest;
_Thread_local struct vt_thread vt_thread_here;

void vt_thread_begin(struct vt_thread *thread, uint32_t generation)
{
	thread->generation = generation;
}

int vt_tracker_is_active(void)
{
	return t.is_active;
}

const struct vt_config *vt_config(void)
{
	t.config.probe = t.setting;
	return &t.config;
}

static int add_pending(int (*function)(void *), void *context)
{
	(void)context;
	if (t.is_full)
		return -1;
	assert_null(t.pending);
	t.pending = function;
	return 0;
}

const struct vt_probe_api *vt_probe_api_find(void)
{
	t.api.Py_AddPendingCall = add_pending;
	return &t.api;
}

int vt_probe_program_can_run(const struct vt_probe_api *api)
{
	(void)api;
	return t.can_run;
}

enum vt_probe_answer vt_probe_program_run(const struct vt_probe_api *api, uint64_t deadline_ns,
					  enum vt_probe_scope scope)
{
	(void)api;
	t.scope = scope;
	assert_true(deadline_ns > t.now_ns);
	t.now_ns += t.cost_ns;
	return t.answer;
}

uint32_t vt_python_code_nr_made(void)
{
	return t.nr_made;
}

int vt_probe_records_begin(void)
{
	return 1;
}

void vt_probe_records_end(uint64_t start_ns, uint64_t duration_ns, const char *reason)
{
	(void)start_ns;
	assert_int_equal(duration_ns, t.cost_ns);
	t.reason = reason;
	t.nr_looks++;
}

static int setup(void **state)
{
	uint32_t generation = vt_thread_newest + 1;

	(void)state;
	memset(&t, 0, sizeof(t));
	vt_thread_here = (struct vt_thread){ 0 };
	vt_thread_newest = generation;
	t.now_ns = 1000 * MS;
	t.cost_ns = 4 * MS;
	t.setting = t.is_active = t.can_run = 1;
	return 0;
}

/* The interpreter comes to a safe point: what it is told, "" for no look. */
static const char *safe_point(void)
{
	int (*pending)(void *) = t.pending;

	t.reason = "";
	t.pending = NULL;
	if (pending)
		assert_int_equal(pending(NULL), 0);
	return t.reason;
}

static void block(uint64_t allocated_bytes)
{
	struct vt_event_record event = {
		.time_ns = t.now_ns, .op = VT_OP_ALLOC, .kind = VT_KIND_BLOCK,
		.allocated_bytes = allocated_bytes,
	};

	vt_probe_note_block(&event);
}

static void step(void)
{
	vt_probe_note_range_end("Optimizer.step#AdamW.step");
}

static void test_loading_is_looked_at_rarely(void **state)
{
	uint32_t mib;

	(void)state;
	for (mib = 1; mib <= 80 * 1024; mib++) {
		block(mib * MIB);
		safe_point();
		t.now_ns += MS / 10;
	}
	/* 64 MiB; 44 ms later, at 0.5 GiB, because of the pause; 2, 8 and 32 GiB. */
	assert_int_equal(t.nr_looks, 5);
}

static void test_later_peaks_by_five_percent(void **state)
{
	(void)state;
	vt_thread_here.module_call = 1;
	block(100 * MIB);
	assert_string_equal(safe_point(), "module call");
	vt_thread_here.module_call = 0;
	t.now_ns += 1000 * MS;
	block(104 * MIB);
	assert_string_equal(safe_point(), "");
	block(107 * MIB);
	assert_string_equal(safe_point(), "peak");
}

static void test_each_module_tree_once(void **state)
{
	(void)state;
	vt_thread_here.module_call = 1;
	block(MIB);
	assert_string_equal(safe_point(), "module call");
	block(MIB);
	assert_string_equal(safe_point(), "");
	vt_thread_here.module_call = 2;
	block(MIB);
	assert_string_equal(safe_point(), "module call");
}

static void test_two_steps(void **state)
{
	(void)state;
	vt_probe_note_range_end("Optimizer.zero_grad#AdamW.zero_grad");
	assert_string_equal(safe_point(), "");
	step();
	assert_string_equal(safe_point(), "optimizer step");
	step();
	assert_string_equal(safe_point(), "optimizer step");
	step();
	assert_string_equal(safe_point(), "");
}

static void test_budget(void **state)
{
	uint32_t mark;

	(void)state;
	vt_probe_note_mark();
	assert_string_equal(safe_point(), "mark");
	/* No sooner than ten times its own duration. */
	vt_probe_note_mark();
	assert_string_equal(safe_point(), "");
	for (mark = 0; mark < 1000; mark++) {
		t.now_ns += 50 * MS;
		vt_probe_note_mark();
		safe_point();
	}
	/* 50 ms and 0.1 % of 54 s, 4 ms each. */
	assert_in_range(t.nr_looks, 24, 26);
}

static void test_landmarks_look_up_to_a_second_and_the_first_of_each_kind(void **state)
{
	(void)state;
	t.cost_ns = 600 * MS;
	step();
	assert_string_equal(safe_point(), "optimizer step");
	step();
	assert_string_equal(safe_point(), "optimizer step");
	vt_probe_note_out_of_memory();
	assert_string_equal(safe_point(), "out of memory");
	vt_probe_note_out_of_memory();
	assert_string_equal(safe_point(), "");
}

/* As many steps more, which leave so much each; what the last of them led to. */
static const char *steps(uint32_t nr, uint64_t *allocated_bytes, uint64_t bytes)
{
	const char *reason = "";

	for (uint32_t i = 0; i < nr; i++) {
		block(*allocated_bytes += bytes);
		safe_point();
		t.scope = VT_PROBE_NAMES;
		step();
		reason = safe_point();
	}
	return reason;
}

static void test_growth_from_step_to_step(void **state)
{
	uint64_t bytes = MIB;

	(void)state;
	/* The second is compared with, whatever a peak before the first was. */
	vt_thread_here.module_call = 1;
	block(bytes);
	safe_point();
	assert_string_equal(steps(2, &bytes, MIB), "optimizer step");
	assert_string_equal(steps(1, &bytes, MIB), "");
	assert_string_equal(steps(1, &bytes, MIB), "growth");
	assert_int_equal(t.scope, VT_PROBE_HOLDERS);
	assert_string_equal(steps(3, &bytes, MIB), "");
	assert_int_equal(t.scope, VT_PROBE_NAMES);
	assert_string_equal(steps(1, &bytes, MIB), "growth");
	/* It stopped growing, and goes on. */
	assert_string_equal(steps(8, &bytes, 0), "");
	t.now_ns += 60 * 1000 * MS;
	assert_string_equal(steps(16, &bytes, MIB), "growth");
}

static void test_growth_has_a_budget_of_its_own(void **state)
{
	uint64_t bytes = MIB;

	(void)state;
	t.cost_ns = 100 * MS;
	assert_string_equal(steps(4, &bytes, 512), "growth");
	assert_string_equal(steps(4, &bytes, 512), "growth");
	assert_string_equal(steps(8, &bytes, 512), "");
	/* 0.1 % of the time for what the third would make of them. */
	t.now_ns += 300 * 1000 * MS;
	assert_string_equal(steps(16, &bytes, 512), "growth");
}

/* A program without an optimizer has grown where a new peak comes late. */
static void test_growth_without_steps(void **state)
{
	(void)state;
	vt_thread_here.module_call = 1;
	block(100 * MIB);
	assert_string_equal(safe_point(), "module call");
	vt_thread_here.module_call = 0;
	t.now_ns += 1000 * MS;
	block(200 * MIB);
	assert_string_equal(safe_point(), "peak");
	t.now_ns += 20000 * MS;
	block(300 * MIB);
	assert_string_equal(safe_point(), "growth");
	assert_int_equal(t.scope, VT_PROBE_HOLDERS);
}

static void test_at_any_cost(void **state)
{
	uint32_t mark;

	(void)state;
	t.setting = 2;
	t.cost_ns = 1000 * MS;
	for (mark = 0; mark < 10; mark++) {
		vt_probe_note_mark();
		assert_string_equal(safe_point(), "mark");
	}
}

static void test_off_or_not_recording(void **state)
{
	(void)state;
	t.setting = 0;
	vt_probe_note_mark();
	step();
	block(1024 * MIB);
	assert_null(t.pending);
	t.setting = 1;
	t.is_active = 0;
	vt_probe_note_mark();
	assert_null(t.pending);
}

static void test_asked_for_once_until_it_ran(void **state)
{
	(void)state;
	vt_probe_note_mark();
	vt_probe_note_out_of_memory();
	assert_string_equal(safe_point(), "out of memory");
	assert_string_equal(safe_point(), "");
	assert_int_equal(t.nr_looks, 1);
}

static void test_not_possible_now(void **state)
{
	(void)state;
	t.can_run = 0;
	vt_probe_note_mark();
	assert_string_equal(safe_point(), "");
	t.can_run = 1;
	block(MIB);
	assert_null(t.pending);
	t.now_ns += 2 * MS;
	block(MIB);
	assert_string_equal(safe_point(), "mark");
}

static void test_full_queue(void **state)
{
	(void)state;
	t.is_full = 1;
	vt_probe_note_mark();
	t.is_full = 0;
	block(MIB);
	assert_string_equal(safe_point(), "mark");
}

static void test_exception_of_a_signal_handler_goes_on(void **state)
{
	(void)state;
	t.answer = VT_PROBE_RAISED;
	vt_probe_note_mark();
	assert_int_equal(t.pending(NULL), -1);
}

/* A look for the names of cells, as soon as there is a new one; nothing else is looked at. */
static void test_code_of_the_programs_own(void **state)
{
	(void)state;
	block(MIB);
	assert_string_equal(safe_point(), "");
	t.nr_made = 1;
	block(MIB);
	assert_string_equal(safe_point(), "code made by the program");
	assert_int_equal(t.scope, VT_PROBE_SOURCES);
	block(MIB);
	assert_string_equal(safe_point(), "");
	t.nr_made = 3;
	block(MIB);
	assert_string_equal(safe_point(), "code made by the program");
	/* Names too where something else asks for them. */
	t.nr_made = 4;
	step();
	block(MIB);
	assert_string_equal(safe_point(), "optimizer step");
	assert_int_equal(t.scope, VT_PROBE_NAMES);
}

static void test_child_starts_anew(void **state)
{
	(void)state;
	step();
	assert_string_equal(safe_point(), "optimizer step");
	/* Queued in the parent, then a fork: the child's interpreter has it too. */
	vt_probe_note_mark();
	vt_thread_newest++;
	t.pending = NULL;
	step();
	assert_string_equal(safe_point(), "optimizer step");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_loading_is_looked_at_rarely, setup),
		cmocka_unit_test_setup(test_later_peaks_by_five_percent, setup),
		cmocka_unit_test_setup(test_each_module_tree_once, setup),
		cmocka_unit_test_setup(test_two_steps, setup),
		cmocka_unit_test_setup(test_budget, setup),
		cmocka_unit_test_setup(
			test_landmarks_look_up_to_a_second_and_the_first_of_each_kind, setup),
		cmocka_unit_test_setup(test_growth_from_step_to_step, setup),
		cmocka_unit_test_setup(test_growth_has_a_budget_of_its_own, setup),
		cmocka_unit_test_setup(test_growth_without_steps, setup),
		cmocka_unit_test_setup(test_at_any_cost, setup),
		cmocka_unit_test_setup(test_off_or_not_recording, setup),
		cmocka_unit_test_setup(test_asked_for_once_until_it_ran, setup),
		cmocka_unit_test_setup(test_not_possible_now, setup),
		cmocka_unit_test_setup(test_full_queue, setup),
		cmocka_unit_test_setup(test_exception_of_a_signal_handler_goes_on, setup),
		cmocka_unit_test_setup(test_code_of_the_programs_own, setup),
		cmocka_unit_test_setup(test_child_starts_anew, setup),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
