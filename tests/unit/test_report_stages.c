/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/model/when.h"
#include "analyzer/report/peak_context.h"
#include "analyzer/report/report_changes.h"
#include "analyzer/report/report_stages_text.h"
#include "tests/lib/database_builder.h"

#define MAIN "run.py:40 main"
#define MIB  ((uint64_t)1 << 20)

static int64_t alloc(struct builder_db *b, const char *python, uint64_t mib)
{
	return build_alloc(b, &(struct build_event){ .size = mib * MIB, .python = python });
}

static void free_it(struct builder_db *b, int64_t allocation, const char *python)
{
	build_free(b, allocation, &(struct build_event){ .python = python });
}

/* The parts of the text report that say when, for device 0. */
static char *print(int has_marks)
{
	const struct vt_report_options options = { .when = "peak", .device = VT_WHEN_ALL_DEVICES,
						   .top = 1, .has_marks = has_marks };
	const struct vt_report_unit unit = { "MiB", (double)MIB };
	struct vt_analysis analysis;
	struct vt_report report;
	struct vt_diag diag = { 0 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_report_begin(&report, &analysis, &options);
	if (vt_report_finish(&report, &diag))
		fail_msg("%s", diag.text);
	vt_report_stages_text_table(&report, 0, unit, out);
	vt_report_stages_text_steps(&report, 0, unit, out);
	vt_report_stages_text_calls(&report, 0, unit, out);
	vt_report_release(&report);
	vt_analysis_close(&analysis);
	fclose(out);
	return text;
}

static void assert_row(const char *text, const char *row)
{
	const char *at = strstr(text, row);

	if (!at || (at != text && at[-1] != '\n'))
		fail_msg("no row \"%s\" in\n%s", row, text);
}

static struct builder_db *open_db(void)
{
	struct builder_db *b = build_open("run.db");

	build_device(b, 0, 1 << 30, 0);
	alloc(b, MAIN, 1);
	return b;
}

static void each_class_that_the_program_calls_has_a_row(void **state)
{
	struct builder_db *b = open_db();
	int64_t inside;
	char *text;

	(void)state;
	alloc(b, "net.py:1 Embedding.forward Embedding@2 < " MAIN, 2);
	inside = alloc(b, "net.py:3 Layer.forward Layer@3 < " MAIN, 8);
	free_it(b, inside, "net.py:3 Layer.forward Layer@3 < " MAIN);
	alloc(b, "net.py:3 Layer.forward Layer@3 < " MAIN, 4);
	alloc(b, MAIN, 16); /* what is made of a result belongs to the call */
	alloc(b, "net.py:3 Layer.forward Layer@3 < net.py:9 Net.forward Net@1 < " MAIN, 1);
	build_close(b);

	text = print(0);

	assert_row(text, "  load                       1.00             1.00  ");
	assert_row(text, "  forward                   24.00            24.00  ");
	assert_row(text, "    Embedding                3.00             3.00  ");
	assert_row(text, "    Layer                   23.00            23.00  ");
	assert_row(text, "    Net                     24.00            24.00  ");
	free(text);
}

static void of_one_class_the_highest_call_is_shown(void **state)
{
	struct builder_db *b = open_db();
	char *text;

	(void)state;
	for (int i = 0; i < 3; i++) {
		int64_t x = alloc(b, "net.py:3 Layer.forward Layer@3 < " MAIN, i == 1 ? 8 : 2);

		free_it(b, x, MAIN);
		alloc(b, "net.py:4 Loss.forward Loss@4 < " MAIN, 1);
	}
	build_close(b);

	text = print(0);

	assert_row(text, "    Layer               10.00             2.00");
	assert_row(text, "    Loss                 4.00             4.00  ");
	assert_row(text, "CALLS  1..3 of Layer  allocated peak 3.00 10.00 5.00 MiB\n");
	free(text);
}

static void one_class_alone_has_no_row_of_its_own(void **state)
{
	struct builder_db *b = open_db();
	char *text;

	(void)state;
	alloc(b, "net.py:9 Net.forward Net@1 < " MAIN, 2);
	build_close(b);
	text = print(0);
	assert_row(text, "  forward ");
	assert_null(strstr(text, "Net"));
	free(text);
}

static void of_many_classes_the_lowest_are_left_out(void **state)
{
	struct builder_db *b = open_db();
	char *text;

	(void)state;
	for (int i = 1; i <= 10; i++) {
		char *python = vt_xasprintf("net.py:%d M%d.forward M%d@%d < " MAIN, i, i, i, i);

		alloc(b, python, 1);
		free(python);
	}
	build_close(b);
	text = print(0);
	assert_null(strstr(text, "    M2 "));
	assert_row(text, "    M3 ");
	assert_row(text, "    M10 ");
	assert_row(text, "    ... 2 more");
	free(text);
}

static void range(struct builder_db *b, const char *name, enum vt_mark_kind kind)
{
	build_mark(b, name, kind, VT_SOURCE_NVTX);
}

static void marks_and_ranges_are_rows_on_request(void **state)
{
	struct builder_db *b = open_db();
	char *text;

	(void)state;
	range(b, "loaded", VT_MARK_POINT);
	range(b, "epoch", VT_MARK_BEGIN);
	for (int i = 0; i < 2; i++) {
		int64_t x;

		range(b, "batch", VT_MARK_BEGIN);
		x = alloc(b, MAIN, i ? 8 : 4);
		range(b, "batch", VT_MARK_END);
		free_it(b, x, MAIN);
	}
	range(b, "epoch", VT_MARK_END);
	alloc(b, MAIN, 2);
	range(b, "done", VT_MARK_POINT);
	/* the framework's own */
	range(b, "Optimizer.step#SGD.step", VT_MARK_BEGIN);
	range(b, "Optimizer.step#SGD.step", VT_MARK_END);
	build_close(b);

	text = print(1);

	assert_memory_equal(text, "MARKS ", 6);
	assert_row(text, "  loaded                1.00             1.00  ");
	assert_row(text, "  epoch                 9.00             1.00");
	assert_row(text, "  batch                 9.00             9.00  ");
	assert_row(text, "  done                  9.00             3.00  ");
	assert_null(strstr(text, "Optimizer"));
	free(text);
}

/* `vtrace info` counts two marks, the report shows none. */
static void marks_of_a_framework_are_said_to_be_there(void **state)
{
	const struct vt_report_options options = {
		.when = "peak", .device = VT_WHEN_ALL_DEVICES, .top = 1, .has_marks = 1
	};
	struct builder_db *b = open_db();
	struct vt_analysis analysis;
	struct vt_report report;
	struct vt_diag diag = { 0 };

	(void)state;
	build_mark(b, "Optimizer.step#SGD.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	alloc(b, MAIN, 1);
	build_mark(b, "Optimizer.step#SGD.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	build_close(b);
	assert_int_equal(vt_analysis_open(&analysis, "run.db", NULL, &diag), 0);
	assert_int_equal(vt_db_count(analysis.db, "mark"), 2);
	vt_report_begin(&report, &analysis, &options);
	assert_int_not_equal(vt_report_finish(&report, &diag), 0);
	assert_string_equal(diag.text,
			    "run.db: no marks and no ranges of the program: its 2 marks"
			    " begin and end ranges of a framework, which are stages");
	vt_report_release(&report);
	vt_analysis_close(&analysis);
}

static void micro_batches_and_the_first_step_have_lines(void **state)
{
	struct builder_db *b = open_db();
	uint64_t sequence = 0;
	char *text;

	(void)state;
	for (int step = 0; step < 2; step++) {
		for (int micro = 0; micro < 2; micro++) {
			struct build_event forward = { .size = 4 * MIB,
						       .python = "net.py:9 Net.forward Net@1",
						       .forward = ++sequence };
			int64_t x = build_alloc(b, &forward);
			struct build_event backward = { .size = MIB,
							.node = "MmBackward0",
							.sequence = sequence };

			build_free(b, build_alloc(b, &backward), &backward);
			build_free(b, x, &backward);
		}
		alloc(b, "/torch/optim/sgd.py:90 SGD.step SGD@7 < " MAIN, step ? 0 : 2);
	}
	build_close(b);

	text = print(0);

	assert_row(text,
		   "STEPS  1..2  allocated peak 6.00 8.00 MiB\n"
		   "       step 1 peaks 2.00 MiB lower; retained after it: + optimizer 2.00\n"
		   "       2 micro-batches each; in step 1  allocated peak 6.00 6.00 MiB\n");
	free(text);
}

static void evaluation_does_not_count_as_use_of_a_step(void **state)
{
	const char *net = "net.py:9 Net.forward Net@1 < " MAIN;
	struct builder_db *b = open_db();
	char *text;

	(void)state;
	for (uint64_t step = 1; step <= 2; step++) {
		struct build_event forward = { .size = MIB, .python = net, .forward = step };
		struct build_event backward = { .size = MIB,
						.node = "MmBackward0",
						.sequence = step };
		struct build_event optimizer = { .size = 1,
						 .python = "/torch/optim/sgd.py:90 SGD.step SGD@7",
						 .forward = step };
		struct build_event evaluation = forward, user = optimizer;
		int64_t x = build_alloc(b, &forward);

		build_free(b, x, &backward);
		build_free(b, build_alloc(b, &backward), &backward);
		build_alloc(b, &optimizer);
		evaluation.size = 16 * MIB;
		free_it(b, build_alloc(b, &evaluation), net);
		user.python = MAIN;
		build_alloc(b, &user);
	}
	build_close(b);

	text = print(0);

	assert_row(text, "  evaluation               17.00             1.00");
	assert_row(text, "STEPS  1..2  allocated peak 2.00 2.00 MiB\n");
	free(text);
}

static void assert_changes(struct vt_books *before, struct vt_books *after, const char *expected)
{
	const struct vt_report_unit unit = { "MiB", (double)MIB };
	char *text = vt_report_changes_text(before, after, unit);

	assert_string_equal(text, expected);
	free(text);
}

static void changes_are_split_by_leaf(void **state)
{
	struct vt_books_line few[] = {
		{ .owner = "activations/embedding", .bytes = 2 * MIB },
		{ .owner = "inputs", .bytes = 3 * MIB },
		{ .owner = "weights", .bytes = 5 * MIB },
	};
	struct vt_books_line many[] = {
		{ .owner = "activations/mlp", .bytes = 9 * MIB },
		{ .owner = "activations/norm", .bytes = 4 * MIB },
		{ .owner = "inputs", .bytes = 3 * MIB },
		{ .owner = "logits", .bytes = 1 },
		{ .owner = "weights", .bytes = 5 * MIB },
		{ .owner = "weights/cast", .bytes = MIB },
		{ .owner = "workspace/cublas", .bytes = 8 * MIB },
	};
	struct vt_books none = { 0 };
	struct vt_books before = { .event = 1, .lines = few, .nr_lines = VT_ARRAY_SIZE(few) };
	struct vt_books after = { .event = 2, .lines = many, .nr_lines = VT_ARRAY_SIZE(many) };

	(void)state;
	assert_changes(&before, &after,
		       "+ activations 11.00 (mlp 9.00, norm 4.00, - embedding 2.00),"
		       " + workspace 8.00 (cublas), + weights 1.00 (cast)");
	assert_changes(&after, &before,
		       "- activations 11.00 (mlp 9.00, norm 4.00, + embedding 2.00),"
		       " - workspace 8.00 (cublas), - weights 1.00 (cast)");
	assert_changes(&none, &before, "weights 5.00, inputs 3.00, activations 2.00 (embedding)");
	assert_changes(&before, &before, "");
	after.nr_lines = 6;
	assert_changes(&none, &after,
		       "activations 13.00 (mlp 9.00, norm 4.00),"
		       " weights 6.00 (itself 5.00, cast 1.00), inputs 3.00");
}

/* The simulator's frame stands inside the program's: there was none without it. */
static void the_peak_is_in_no_function_of_the_simulator(void **state)
{
	struct builder_db *b = open_db();
	struct vt_peak_context place;
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t highest =
		alloc(b,
		      "<vtrace-simulator>:152 Mode.__torch_dispatch__ < "
		      "/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py:9 _fn < "
		      "run.py:9 score < " MAIN,
		      8);

	(void)state;
	build_close(b);
	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_peak_context_find(&place, &analysis, highest);
	assert_string_equal(place.doing, "score");
	vt_peak_context_release(&place);
	vt_analysis_close(&analysis);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_class_that_the_program_calls_has_a_row),
		TEST(of_one_class_the_highest_call_is_shown),
		TEST(one_class_alone_has_no_row_of_its_own),
		TEST(of_many_classes_the_lowest_are_left_out),
		TEST(marks_and_ranges_are_rows_on_request),
		TEST(marks_of_a_framework_are_said_to_be_there),
		TEST(micro_batches_and_the_first_step_have_lines),
		TEST(evaluation_does_not_count_as_use_of_a_step),
		TEST(changes_are_split_by_leaf),
		TEST(the_peak_is_in_no_function_of_the_simulator),
	};

	return cmocka_run_group_tests_name("report_stages", tests, NULL, NULL);
}
