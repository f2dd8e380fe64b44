/* SPDX-License-Identifier: MIT */
/*
 * Parameters that the program replaces in every step are weights in the steps without a look, too,
 * where the line that replaces them leaves no choice.
 */
#include "tests/lib/unit.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define MAIN     "train.py:40 main"
#define NET      "net.py:9 Net.forward Net@1 < " MAIN
#define AVERAGE  "net.py:5 Net.average Net@1 < " NET
#define ASIDE    "net.py:7 Net.average Net@1 < " NET
#define BELOW    "net.py:2 mix < " AVERAGE
#define OP(name) "libtorch_cpu.so!at::_ops::" #name "::call(at::Tensor const&)"
#define NR_STEPS 4
#define NR       3
#define OTHER    "activations/residual"

static const struct parameter {
	const char *name;
	uint64_t size;
} parameters[NR] = { { "up", 1 << 20 }, { "scale", 512 }, { "shift", 512 } };

/* How the program replaces them from the second step on; a probe looks after the first. */
enum habit {
	IN_TURN,
	BY_A_FUNCTION,
	ELSEWHERE, /* the old one is freed by another line */
	LARGER,
	MORE_MADE, /* behind the new one */
	TOGETHER,  /* all are freed when all are made */
};

static struct {
	int64_t replaced[NR_STEPS][NR];
	int64_t scaled[NR_STEPS][NR]; /* gone before the old one is */
} g;

static int64_t allocate(struct builder_db *b, uint64_t size, const char *python)
{
	return build_alloc(b, &(struct build_event){
				      .size = size, .python = python, .native = OP(add_Tensor) });
}

static void free_at(struct builder_db *b, int64_t event, const char *python)
{
	build_free(b, event, &(struct build_event){ .python = python });
}

static void replace(struct builder_db *b, int step, int i, enum habit habit)
{
	const char *where = habit == BY_A_FUNCTION ? BELOW : AVERAGE;
	uint64_t size = parameters[i].size + (habit == LARGER ? (uint64_t)step << 22 : 0);

	g.scaled[step][i] = allocate(b, size, where);
	g.replaced[step][i] = allocate(b, size, where);
	free_at(b, g.scaled[step][i], where);
	if (habit == MORE_MADE)
		free_at(b, allocate(b, 512, NET), NET);
	if (step && habit != TOGETHER)
		free_at(b, g.replaced[step - 1][i], habit == ELSEWHERE ? ASIDE : AVERAGE);
}

static void see(struct builder_db *b)
{
	for (int i = 0; i < NR; i++)
		build_tensor(b, &(struct build_tensor){ .allocation = g.replaced[0][i],
							.role = VT_ROLE_PARAMETER,
							.name = parameters[i].name,
							.holder = "main: model" });
}

static void take_step(struct builder_db *b, int step, enum habit habit)
{
	int64_t kept;

	for (int i = 0; i < NR; i++)
		replace(b, step, i, habit);
	for (int i = 0; i < NR && step && habit == TOGETHER; i++)
		free_at(b, g.replaced[step - 1][i], AVERAGE);
	kept = build_alloc(b, &(struct build_event){ .size = 512, .python = NET, .forward = 300 });
	build_free(b, kept, &(struct build_event){ .node = "AddmmBackward0", .sequence = 300 });
	build_mark(b, "Optimizer.step#SGD.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	if (!step)
		see(b);
	build_mark(b, "Optimizer.step#SGD.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
}

static void assert_path(struct vt_analysis *analysis, int64_t event, const char *expected)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++) {
		char *path;

		if (analysis->model.allocations[i].event != event)
			continue;
		path = vt_attribution_path(&analysis->attribution, i);
		assert_string_equal(path, expected);
		free(path);
	}
}

static void check(enum habit habit, int is_named)
{
	struct builder_db *b = build_open("replaced.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };

	memset(&g, 0, sizeof(g));
	for (int step = 0; step < NR_STEPS; step++)
		take_step(b, step, habit);
	build_close(b);
	if (vt_analysis_open(&analysis, "replaced.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (int step = 0; step < NR_STEPS; step++)
		for (int i = 0; i < NR; i++) {
			char *weight = vt_xasprintf("weights/%s", parameters[i].name);

			assert_path(&analysis, g.replaced[step][i],
				    is_named || !step ? weight : OTHER);
			assert_path(&analysis, g.scaled[step][i], OTHER);
			free(weight);
		}
	vt_analysis_close(&analysis);
	assert_int_equal(unlink("replaced.db"), 0);
}

static void what_is_made_in_a_parameters_place_is_it(void **state)
{
	(void)state;
	check(IN_TURN, 1);
	check(BY_A_FUNCTION, 1);
}

static void what_else_is_made_when_a_parameter_is_freed_is_not(void **state)
{
	(void)state;
	check(ELSEWHERE, 0);
	check(LARGER, 0);
	check(MORE_MADE, 0);
	check(TOGETHER, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_made_in_a_parameters_place_is_it),
		cmocka_unit_test(what_else_is_made_when_a_parameter_is_freed_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
