/* SPDX-License-Identifier: MIT */
/*
 * What keeps bytes alive: one allocation per row, made and freed around one training step.
 */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/attribution/keepers.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define TORCH "/usr/lib/python3/dist-packages/torch"
#define MODEL "train.py:9 Net.forward Net@1 < train.py:40 main"
#define BLOCK "train.py:20 Block.forward Block@2 < " MODEL
#define NORM  TORCH "/nn/modules/n.py:5 LayerNorm.forward LayerNorm@5 < " BLOCK
#define ATTN  "train.py:25 Attn.forward Attn@7 < " BLOCK
#define QUERY TORCH "/nn/modules/l.py:5 Linear.forward Linear@6 < " ATTN

enum phase { LOAD, FORWARD, BACKWARD, OPTIMIZER, BEHIND, NEVER };

static const struct row {
	const char *keeper; /* vt_keepers_text() */
	enum phase made_in;
	enum phase freed_in;
	struct build_event made;
	struct build_event freed;
} rows[] = {
	/* what a thing is does not say who needs it */
	{ "saved for AddmmBackward0 in Linear < Attn",
	  FORWARD,
	  BACKWARD,
	  { .python = NORM },
	  { .node = "AddmmBackward0", .sequence = 500, .forward_python = QUERY } },
	{ "saved for MeanBackward0 at train.py:41 main",
	  FORWARD,
	  BACKWARD,
	  { .python = MODEL },
	  { .node = "MeanBackward0", .sequence = 501, .forward_python = "train.py:41 main" } },
	{ "saved for MulBackward0",
	  FORWARD,
	  BACKWARD,
	  { .python = MODEL },
	  { .node = "MulBackward0", .sequence = 502 } },
	{ "checkpoint, until PyNode in Net had run again",
	  FORWARD,
	  BACKWARD,
	  { .python = BLOCK },
	  { .node = "PyNode",
	    .sequence = 503,
	    .forward_python = TORCH "/utils/checkpoint.py:505 checkpoint < " MODEL } },
	/* a gradient waits for its node; made again by a forward, it is saved */
	{ "gradient for AddmmBackward0 in Linear < Attn",
	  BACKWARD,
	  BACKWARD,
	  { .node = "MulBackward0", .sequence = 504, .forward_python = NORM },
	  { .node = "AddmmBackward0", .sequence = 500, .forward_python = QUERY } },
	{ "saved for GeluBackward0 in Block < Net",
	  BACKWARD,
	  BACKWARD,
	  { .node = "PyNode", .sequence = 503, .python = NORM },
	  { .node = "GeluBackward0", .sequence = 3, .forward_python = BLOCK } },
	{ "operation",
	  BACKWARD,
	  BACKWARD,
	  { .node = "MulBackward0", .sequence = 505 },
	  { .node = "MulBackward0", .sequence = 505 } },
	/* roles */
	{ ".grad", BACKWARD, OPTIMIZER, { .node = "AddmmBackward0", .sequence = 506 }, { 0 } },
	{ "gradient for MulBackward0",
	  BACKWARD,
	  BACKWARD,
	  { .node = "AccumulateGrad" },
	  { .node = "MulBackward0", .sequence = 507 } },
	{ "module",
	  LOAD,
	  NEVER,
	  { .python = TORCH "/nn/modules/module.py:958 Module._apply Linear@3 < train.py:30 main" },
	  { 0 } },
	{ "optimizer",
	  OPTIMIZER,
	  NEVER,
	  { .python = TORCH "/optim/adamw.py:90 AdamW.step AdamW@7 < train.py:44 main" },
	  { 0 } },
	{ "library",
	  FORWARD,
	  NEVER,
	  { .python = MODEL, .native = "libtorch_cuda.so!at::cuda::getCurrentCUDABlasHandle()" },
	  { 0 } },
	{ "cache",
	  FORWARD,
	  BEHIND,
	  { .python = "net.py:9 KeyValueCache.update < " MODEL },
	  { .python = "train.py:50 main" } },
	/* Python */
	{ "variable, until train.py:45 main",
	  FORWARD,
	  BEHIND,
	  { .python = "train.py:39 main",
	    .native = "libtorch_cpu.so!at::_ops::_to_copy::call(at::Tensor const&)" },
	  { .python = "train.py:45 main" } },
	{ "operation", FORWARD, FORWARD, { .python = MODEL }, { .python = MODEL } },
	/* nobody was seen */
	{ "not known", FORWARD, BEHIND, { .python = MODEL }, { 0 } },
	{ "not known", FORWARD, NEVER, { .python = MODEL, .forward = 390 }, { 0 } },
};

static struct {
	int64_t events[VT_ARRAY_SIZE(rows)];
} g;

static void run_phase(struct builder_db *b, enum phase phase)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++) {
		struct build_event event = rows[i].made;

		if (rows[i].made_in != phase)
			continue;
		event.size = 512 * (i + 1);
		if (phase == FORWARD && !event.forward)
			event.forward = 310 + i;
		g.events[i] = build_alloc(b, &event);
	}
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++)
		if (rows[i].freed_in == phase)
			build_free(b, g.events[i], &rows[i].freed);
}

static void make_program(void)
{
	struct builder_db *b = build_open("kept.db");

	run_phase(b, LOAD);
	run_phase(b, FORWARD);
	run_phase(b, BACKWARD);
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	run_phase(b, OPTIMIZER);
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	run_phase(b, BEHIND);
	/* The program goes on for a while. */
	build_free(b, build_alloc(b, &(struct build_event){ .size = 512, .python = BLOCK }),
		   &(struct build_event){ .python = "train.py:51 main" });
	build_close(b);
}

static char *keeper_of(struct vt_analysis *analysis, const struct vt_describe *describe,
		       int64_t event)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++)
		if (analysis->model.allocations[i].event == event) {
			char *detail, *text;
			enum vt_keeper keeper = vt_keepers_find(&analysis->attribution, describe, i,
								&detail);

			text = vt_keepers_text(keeper, detail);
			free(detail);
			return text;
		}
	return NULL;
}

static void every_row_gets_its_keeper(void **state)
{
	struct vt_analysis analysis;
	struct vt_describe describe;
	struct vt_diag diag = { 0 };
	int wrong = 0;

	(void)state;
	make_program();
	if (vt_analysis_open(&analysis, "kept.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_describe_init(&describe, &analysis.model, 0);
	for (size_t r = 0; r < VT_ARRAY_SIZE(rows); r++) {
		char *keeper = keeper_of(&analysis, &describe, g.events[r]);

		if (!keeper || strcmp(keeper, rows[r].keeper)) {
			print_error("row %zu: %s, not %s\n", r, rows[r].keeper, keeper);
			wrong++;
		}
		free(keeper);
	}
	assert_int_equal(wrong, 0);
	vt_describe_release(&describe);
	vt_analysis_close(&analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_row_gets_its_keeper, unit_enter, unit_leave),
	};

	return cmocka_run_group_tests_name("keepers", tests, NULL, NULL);
}
