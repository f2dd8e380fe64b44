/* SPDX-License-Identifier: MIT */
/*
 * Gradients that no probe saw get the names of their parameters, where the module instance and the
 * size, or the order of a step that was seen, leave no choice; else none.
 */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/attribution/origins.h"
#include "analyzer/base/util.h"
#include "analyzer/report/analysis.h"
#include "tests/lib/database_builder.h"

#define NET       "net.py:9 Net.forward Net@1 < train.py:40 main"
#define IN(type, address) "nn.py:5 " #type ".forward " #type "@" #address " < " NET
#define NR_STEPS 3
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
	{ "activations/mlp", NULL, 7 << 19, IN(Linear, 4), 0, BY_NODE },
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
		module = vt_origins_module(&analysis->facts, &analysis->model.allocations[i]);
		assert_string_equal(module, expected);
		free(module);
	}
}

static void gradients_get_the_names_of_their_parameters(void **state)
{
	struct builder_db *b = build_open("gradients.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int wrong = 0;

	(void)state;
	load(b);
	for (int i = 0; i < NR_STEPS; i++)
		step(b, i);
	build_close(b);
	if (vt_analysis_open(&analysis, "gradients.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (int number = 0; number < NR_STEPS; number++)
		for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++)
			wrong += !is_named(&analysis, number, i);
	assert_int_equal(wrong, 0);
	assert_module(&analysis, g.events[2][0], "up");
	assert_module(&analysis, g.events[2][SCALE], "");
	vt_analysis_close(&analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gradients_get_the_names_of_their_parameters,
						unit_enter, unit_leave),
	};

	return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
