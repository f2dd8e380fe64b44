/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define TORCH   "/usr/lib/python3/dist-packages/torch"
#define FORWARD "train.py:9 Net.forward Net@1 < train.py:40 main"
#define USER    "train.py:50 main"
#define FIRST   TORCH "/optim/adam.py:90 Adam.step Adam@7 < train.py:44 main"
#define SECOND  TORCH "/optim/adam.py:90 Adam.step Adam@8 < train.py:48 main"
#define RANGE   "Optimizer.step#Adam.step"

static void alloc(struct builder_db *b, const char *python)
{
	build_alloc(b, &(struct build_event){ .size = 512, .python = python });
}

/*
 * One letter, one event: f forward, b backward, g generation, u the program's own, 1 and 2 below
 * the step of two optimizers; ( and [ open the range of an optimizer at two places, ) closes it; o
 * out of memory.
 */
static void play(struct builder_db *b, const char *script)
{
	uint64_t sequence = 0;

	for (const char *c = script; *c; c++)
		switch (*c) {
		case 'f':
			build_alloc(b, &(struct build_event){ .size = 512,
							      .python = FORWARD,
							      .forward = ++sequence });
			break;
		case 'b':
			build_alloc(b, &(struct build_event){ .size = 512,
							      .node = "MmBackward0",
							      .sequence = sequence });
			break;
		case 'g':
			alloc(b, FORWARD " < lib.py:3 Mixin.generate Net@1 < " USER);
			break;
		case 'u':
			alloc(b, USER);
			break;
		case '1':
			alloc(b, FIRST);
			break;
		case '2':
			alloc(b, SECOND);
			break;
		case '(':
		case '[':
			build_mark_at(b, RANGE, VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION,
				      *c == '(' ? "train.py:44 main" : "train.py:48 main");
			break;
		case ')':
			build_mark(b, RANGE, VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
			break;
		case 'o':
			build_oom(b, &(struct build_event){ .size = 1 << 30, .python = FORWARD });
			break;
		default:
			fail_msg("no event: %c", *c);
		}
}

/*
 * The steps of a script, each as its number of micro-batches, "!" behind one that did not end, and
 * the letter of its last event: "1)" or "0u!".
 */
static void check(const char *script, const char *expected)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	struct vt_buffer text;

	play(b, script);
	build_close(b);
	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_buffer_init(&text);
	for (uint32_t i = 0; i < analysis.stages.steps.nr; i++) {
		const struct vt_step *step = &analysis.stages.steps.steps[i];

		vt_buffer_printf(&text, "%s%u%c%s", i ? " " : "", step->nr_micro_batches,
				 script[analysis.stages.spans[step->last_span].last_event - 1],
				 step->is_complete ? "" : "!");
	}
	assert_string_equal(text.data ? text.data : "", expected);
	vt_buffer_release(&text);
	vt_analysis_close(&analysis);
	assert_int_equal(remove("run.db"), 0);
}

static void one_optimizer_ends_each_step(void **state)
{
	(void)state;
	check("ufb1ufb1", "11 11");
	check("fb(1)ufb(1)", "1) 1)");
	check("fb1fb", "11 1b!");
	/* nothing was computed since: the same step */
	check("fb1u1fb1", "11 11");
}

static void optimizers_that_take_turns_make_one_step(void **state)
{
	(void)state;
	check("fb1fb2fb1fb2", "12 12");
	check("fb12fb12", "12 12");
	/* one of them more often: its next step begins the next */
	check("fb1fb1fb2fb1fb1fb2", "11 12 11 12");
}

static void an_optimizer_that_takes_over_begins_a_step(void **state)
{
	(void)state;
	/* a warm-up, then another optimizer, which may call closures */
	check("fb1fb1fb2fb2", "11 11 12 12");
	check("fb1fb1u[fbfb2fb)u[fbfb)", "11 11 1) 1)");
	/* one that comes back took a turn */
	check("fb1fb1fb2fb2fb1", "11 12 11");
}

/* A fused optimizer allocates nothing: the place that calls it tells which it is. */
static void ranges_without_allocations_are_told_by_their_place(void **state)
{
	(void)state;
	check("fb()fb[)fb()fb[)", "1) 1)");
	check("fb()fb()", "1) 1)");
	/* the first step allocates the state, later ones nothing */
	check("fb(1)fb[2)fb()fb[)", "1) 1)");
}

static void an_iteration_cut_short_is_one_step(void **state)
{
	(void)state;
	check("fb1fb2fb1fbo", "12 1o!");
	check("fb1fb2fbo", "12 1o!");
}

static void a_closure_belongs_to_the_step_that_calls_it(void **state)
{
	(void)state;
	check("u(fbfb1fb)u(fbfb)", "1) 1)");
	/* the closure computes the last of several micro-batches */
	check("fbufb(fb1)fbfb(fb1)", "3) 3)");
}

static void passes_before_one_optimizer_step_are_micro_batches(void **state)
{
	(void)state;
	check("fbufbfb1fbfbfb1", "31 31");
	/* a loss of several parts */
	check("ffbb1", "11");
	/* a critic on real and on made images */
	check("fbfb1fb2fbfb1fb2", "22 22");
	check("fb1fbfbfb2fb1fbfbfb2", "32 32");
}

static void without_an_optimizer_each_forward_and_backward_is_a_step(void **state)
{
	(void)state;
	check("ufbufbu", "1u 1u");
	check("ufbufbufo", "1u 1u 0o!");
	check("ufbu", "1u!");
	check("ufuf", "");
	/* it may have been about to train, or was it? */
	check("ufo", "0o!");
	check("ufgo", "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_optimizer_ends_each_step),
		TEST(optimizers_that_take_turns_make_one_step),
		TEST(an_optimizer_that_takes_over_begins_a_step),
		TEST(ranges_without_allocations_are_told_by_their_place),
		TEST(an_iteration_cut_short_is_one_step),
		TEST(a_closure_belongs_to_the_step_that_calls_it),
		TEST(passes_before_one_optimizer_step_are_micro_batches),
		TEST(without_an_optimizer_each_forward_and_backward_is_a_step),
	};

	return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
