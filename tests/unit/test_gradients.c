/* SPDX-License-Identifier: MIT */
/*
 * Gradients that no probe saw get the names of their parameters, where the module instance and the
 * size, or the order of a step that was seen, leave no choice; else none.
 */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define NET       "net.py:9 Net.forward Net@1 < train.py:40 main"
#define IN(type, address) "nn.py:5 " #type ".forward " #type "@" #address " < " NET
#define NR_STEPS 3
#define NORM	 6
#define SCALE    10
#define SEEN_IN  1 /* the step after which the probe looks */

/* What one step's backward pass makes, in this order. */
static const struct row {
	const char *path; /* where the probe does not look; in the step that it sees `seen` */
	const char *seen;
	uint64_t size;
	const char *forward; /* stack of the forward call */
	int is_only_seen;    /* made in the step that the probe sees, and in no other */
	enum { LATER, IN_PASS, BY_NODE } freed;
} rows[] = {
	{ "gradients/up.weight", "up.weight", 1 << 20, IN(Linear, 3), 0, LATER },
	{ "gradients/up.bias", "up.bias", 2048, IN(Linear, 3), 0, LATER },
	/* The other instance of that class. */
	{ "gradients/down.weight", "down.weight", 7 << 19, IN(Linear, 4), 0, LATER },
	/* The gradient of its input: gone before the pass ended. */
	{ "activation gradients", NULL, 7 << 19, IN(Linear, 4), 0, IN_PASS },
	/* Kept for a node of a second pass. */
	{ "activation gradients", NULL, 7 << 19, IN(Linear, 4), 0, BY_NODE },
	/* A size that no parameter of the module has. */
	{ "gradients", NULL, 1 << 19, IN(Linear, 4), 0, LATER },
	/* Equal sizes: by order, backwards on purpose. */
	{ "gradients/norm.bias", "norm.bias", 512, IN(LayerNorm, 5), 0, LATER },
	{ "gradients/norm.weight", "norm.weight", 512, IN(LayerNorm, 5), 0, LATER },
	/* Equal sizes, and the other steps make one of them only: which is it? */
	{ "gradients", "last.weight", 512, IN(LayerNorm, 6), 0, LATER },
	{ "gradients", "last.bias", 512, IN(LayerNorm, 6), 1, LATER },
	/* A parameter that the function of a parent uses. */
	{ "gradients/scale", "scale", 4096, IN(Gelu, 8), 0, LATER },
	/* No module at all. */
	{ "gradients", NULL, 4096, NULL, 0, LATER },
};

static const struct parameter {
	const char *name;
	uint64_t size;
} parameters[] = {
	{ "up.weight", 1 << 20 },   { "up.bias", 2048 },     { "down.weight", 3 << 20 },
	{ "norm.weight", 512 },     { "norm.bias", 512 },    { "last.weight", 512 },
	{ "last.bias", 512 },       { "scale", 4096 },
};

static struct {
	int64_t events[NR_STEPS][VT_ARRAY_SIZE(rows)];
} g;

static void load(struct builder_db *b)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(parameters); i++) {
		const struct build_event made = { .size = parameters[i].size,
						  .python = "train.py:3 main" };
		int64_t event = build_alloc(b, &made);

		build_tensor(b, &(struct build_tensor){ .allocation = event,
							.role = VT_ROLE_PARAMETER,
							.name = parameters[i].name,
							.holder = "main: model" });
	}
	build_module(b, 1, "Net", NULL, "main: model", 1);
	build_module(b, 3, "Linear", "up", "main: model", 1);
	build_module(b, 4, "Linear", "down", "main: model", 1);
	build_module(b, 5, "LayerNorm", "norm", "main: model", 1);
	build_module(b, 6, "LayerNorm", "last", "main: model", 1);
	build_module(b, 8, "Gelu", "gelu", "main: model", 1);
}

/* A state whose key holds a list. */
static int64_t listed_state(struct builder_db *b)
{
	int64_t event = build_alloc(b, &(struct build_event){ .size = 1 << 20,
							      .python = "train.py:9 main" });

	build_tensor(b, &(struct build_tensor){ .allocation = event,
						.role = VT_ROLE_OPTIMIZER,
						.name = "up.weight.moments.1",
						.holder = "main: optimizer" });
	return event;
}

static void see(struct builder_db *b, const struct row *row, int64_t event)
{
	if (row->seen)
		build_tensor(b, &(struct build_tensor){ .allocation = event,
							.role = VT_ROLE_GRADIENT,
							.name = row->seen,
							.holder = "main: model" });
}

static void step(struct builder_db *b, int number)
{
	int64_t kept = build_alloc(
		b, &(struct build_event){ .size = 512, .python = NET, .forward = 300 });

	build_free(b, kept, &(struct build_event){ .node = "AddmmBackward0", .sequence = 300 });
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++) {
		struct build_event event = { .size = rows[i].size,
					     .node = "AddmmBackward0",
					     .sequence = 300,
					     .forward_python = rows[i].forward };

		if (rows[i].is_only_seen && number != SEEN_IN)
			continue;
		g.events[number][i] = build_alloc(b, &event);
		if (rows[i].freed == IN_PASS)
			build_free(b, g.events[number][i], NULL);
	}
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	for (size_t i = 0; number == SEEN_IN && i < VT_ARRAY_SIZE(rows); i++)
		see(b, &rows[i], g.events[number][i]);
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++)
		if (g.events[number][i] && rows[i].freed != IN_PASS)
			build_free(b, g.events[number][i],
				   rows[i].freed == BY_NODE
					   ? &(struct build_event){ .node = "MulBackward0" }
					   : &(struct build_event){ .python = "train.py:45 main" });
}

static int is_named(struct vt_analysis *analysis, int number, size_t row)
{
	const char *wanted = rows[row].path;
	char *seen = rows[row].seen ? vt_xasprintf("gradients/%s", rows[row].seen) : NULL;
	int is_right = 1;

	if (number == SEEN_IN && seen)
		wanted = seen;
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++) {
		char *path;

		if (analysis->model.allocations[i].event != g.events[number][row])
			continue;
		path = vt_attribution_path(&analysis->attribution, i);
		is_right = !strcmp(path, wanted);
		if (!is_right)
			print_error("step %d, row %zu: %s, not %s\n", number, row, wanted, path);
		free(path);
	}
	free(seen);
	return is_right;
}

/* "gradients/up.weight" hangs on "up", what the root has on "". */
static void assert_module(struct vt_analysis *analysis, int64_t event, const char *expected)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++) {
		char *module;

		if (analysis->model.allocations[i].event != event)
			continue;
		module = vt_module_path_module(&analysis->facts, &analysis->model.allocations[i]);
		assert_string_equal(module, expected);
		free(module);
	}
}

static void gradients_get_the_names_of_their_parameters(void **state)
{
	struct builder_db *b = build_open("gradients.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t state_event;
	int wrong = 0;

	(void)state;
	load(b);
	state_event = listed_state(b);
	for (int i = 0; i < NR_STEPS; i++)
		step(b, i);
	build_close(b);
	if (vt_analysis_open(&analysis, "gradients.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (int number = 0; number < NR_STEPS; number++)
		for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++)
			wrong += !is_named(&analysis, number, i);
	assert_int_equal(wrong, 0);
	assert_module(&analysis, state_event, "up");
	assert_module(&analysis, g.events[2][0], "up");
	assert_module(&analysis, g.events[2][SCALE], "");
	vt_analysis_close(&analysis);
}

static char *path_of(struct vt_analysis *analysis, int64_t event)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++)
		if (analysis->model.allocations[i].event == event)
			return vt_attribution_path(&analysis->attribution, i);
	return vt_xstrdup("nothing");
}

static void assert_path(struct vt_analysis *analysis, int64_t event, const char *expected)
{
	char *path = path_of(analysis, event);

	assert_string_equal(path, expected);
	free(path);
}

#define OF(op)                                                                                     \
	"libtorch_cuda.so!at::native::x < libtorch_cpu.so!at::_ops::" op "::call(at::Tensor const&)"
#define CAST OF("_to_copy") " < libtorch_cpu.so!at::autocast::cached_cast(c10::ScalarType)"

static uint32_t things_of(const struct vt_analysis *analysis, int64_t event)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++)
		if (analysis->model.allocations[i].event == event)
			return vt_facts_casts(&analysis->facts, &analysis->model.allocations[i]);
	return 0;
}

/* Autocast casts bias, weight and input of an operator, in that order. */
static void casts_of_parameters_are_told_from_those_of_inputs(void **state)
{
	const char *const up = IN(Linear, 3), *const down = IN(Linear, 4);
	struct builder_db *b = build_open("casts.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	struct build_event cast = { .native = CAST, .forward = 300 };
	int64_t bias, weight, input, alone, odd, last, tailed, large, plain, other;

	(void)state;
	load(b);
	cast.python = up;
	cast.size = 1024;
	bias = build_alloc(b, &cast);
	cast.size = 1 << 19;
	weight = build_alloc(b, &cast);
	input = build_alloc(b, &cast); /* as large as the weight by chance */
	/* In front of another one a block with room to spare will do, on its own it must fit. */
	build_alloc(b, &(struct build_event){ .size = 512, .python = down, .forward = 300 });
	cast.python = down;
	cast.size = 4 << 19;
	odd = build_alloc(b, &cast);
	cast.size = 512;
	last = build_alloc(b, &cast);
	build_alloc(b, &(struct build_event){ .size = 512, .python = down, .forward = 300 });
	cast.size = 3 << 19;
	alone = build_alloc(b, &cast);
	/* A tail of any length, where the request is known. */
	build_alloc(b, &(struct build_event){ .size = 512, .python = down, .forward = 300 });
	cast.size = 8 << 19;
	cast.requested = 3 << 19;
	tailed = build_alloc(b, &cast);
	build_alloc(b, &(struct build_event){ .size = 512, .python = down, .forward = 300 });
	cast.requested = 8 << 19;
	large = build_alloc(b, &cast);
	/* Not autocast's; and no cast. */
	build_alloc(b, &(struct build_event){ .size = 512, .python = NET, .forward = 300 });
	plain = build_alloc(b, &(struct build_event){ .size = 1 << 19,
						      .python = up,
						      .native = OF("_to_copy"),
						      .forward = 300 });
	build_alloc(b, &(struct build_event){ .size = 512, .python = NET, .forward = 300 });
	other = build_alloc(b, &(struct build_event){ .size = 1 << 19,
						      .python = up,
						      .native = OF("mul"),
						      .forward = 300 });
	build_close(b);
	if (vt_analysis_open(&analysis, "casts.db", NULL, &diag))
		fail_msg("%s", diag.text);
	assert_path(&analysis, bias, "weights/cast/up.bias");
	assert_path(&analysis, weight, "weights/cast/up.weight");
	assert_path(&analysis, input, "activations/mlp");
	assert_path(&analysis, odd, "weights/cast/down.weight");
	assert_path(&analysis, last, "activations/mlp");
	assert_path(&analysis, alone, "weights/cast/down.weight");
	assert_path(&analysis, tailed, "weights/cast/down.weight");
	assert_path(&analysis, large, "activations/mlp");
	assert_path(&analysis, plain, "activations/mlp");
	assert_path(&analysis, other, "activations/mlp");
	assert_int_equal(things_of(&analysis, plain), 1u << VT_THING_PARAMETER);
	assert_int_equal(things_of(&analysis, other), 0);
	vt_analysis_close(&analysis);
}

/* A checkpointed part runs again below a node of the backward pass, and casts its weights again. */
static void casts_made_again_in_the_backward_pass_are_of_parameters_too(void **state)
{
	struct builder_db *b = build_open("again.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	struct build_event cast = { .native = CAST,
				    .python = IN(Linear, 3),
				    .node = "NativeDropoutBackward0",
				    .sequence = 300 };
	int64_t bias, weight, input;

	(void)state;
	load(b);
	cast.size = 1024;
	bias = build_alloc(b, &cast);
	cast.size = 1 << 19;
	weight = build_alloc(b, &cast);
	cast.size = 5 << 17;
	input = build_alloc(b, &cast);
	for (int64_t i = bias; i <= input; i++)
		build_free(b, i,
			   &(struct build_event){ .node = "AddmmBackward0", .sequence = 299 });
	build_close(b);
	if (vt_analysis_open(&analysis, "again.db", NULL, &diag))
		fail_msg("%s", diag.text);
	assert_path(&analysis, bias, "weights/cast/up.bias");
	assert_path(&analysis, weight, "weights/cast/up.weight");
	assert_path(&analysis, input, "activations/mlp");
	vt_analysis_close(&analysis);
}

/* A fused loss makes the gradient in its forward; what becomes .grad is known by where. */
static void gradients_made_in_forward_are_known_by_their_place(void **state)
{
	const struct build_event place = { .size = 1 << 20,
					   .python = "loss.py:7 Fused.forward < train.py:40 main",
					   .native = "libtorch_cpu.so!at::_ops::mm::call",
					   .forward = 300 };
	const struct build_event shared = { .size = 512,
					    .python = "loss.py:8 Fused.forward < train.py:40 main",
					    .forward = 300 };
	struct builder_db *b = build_open("fused.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t seen, again, weight, bias, either;
	char *path;

	(void)state;
	load(b);
	seen = build_alloc(b, &place);
	weight = build_alloc(b, &shared);
	bias = build_alloc(b, &shared);
	see(b, &rows[0], seen);
	see(b, &rows[NORM], bias);
	see(b, &rows[NORM + 1], weight);
	again = build_alloc(b, &place);
	either = build_alloc(b, &shared);
	build_close(b);
	if (vt_analysis_open(&analysis, "fused.db", NULL, &diag))
		fail_msg("%s", diag.text);
	assert_path(&analysis, seen, "gradients/up.weight");
	assert_path(&analysis, again, "gradients/up.weight");
	assert_path(&analysis, bias, "gradients/norm.bias");
	path = path_of(&analysis, either);
	assert_null(strstr(path, "gradients"));
	free(path);
	vt_analysis_close(&analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gradients_get_the_names_of_their_parameters,
						unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(casts_of_parameters_are_told_from_those_of_inputs,
						unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(
			casts_made_again_in_the_backward_pass_are_of_parameters_too, unit_enter,
			unit_leave),
		cmocka_unit_test_setup_teardown(gradients_made_in_forward_are_known_by_their_place,
						unit_enter, unit_leave),
	};

	return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
