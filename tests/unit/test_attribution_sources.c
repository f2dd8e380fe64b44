/* SPDX-License-Identifier: MIT */
/*
 * What the program's own code made it of: casts of scores, results that are repeated, batches from
 * pieces; and what compiled graphs and losses of a program's own make of a matrix product.
 */
#include "tests/lib/unit.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define TORCH "/usr/lib/python3/dist-packages/torch"
#define MAIN  "main.py:40 main"
#define NET   "net.py:9 Net.forward Net@1 < " MAIN
#define IN(type, address)                                                                          \
	TORCH "/nn/modules/x.py:5 " #type ".forward " #type "@" #address " < " NET
#define OP(name)                                                                                   \
	"libtorch_cuda.so!at::native::x < libtorch_cpu.so!at::_ops::" #name                        \
	"::call(at::Tensor const&)"
#define M (1ull << 20)

/* One allocation, in order, and what it is; with no owner it only sets the scene. */
struct event {
	struct build_event made;
	const char *owner;
	int free_at; /* index of the event before which it is freed; 0: never */
	const char *freed_node; /* that frees it; NULL: the program does */
};

/* A variable's block dies in its own function; what a layer returned, in the program's. */
static const char *freed_in(const struct event *event)
{
	return strstr(event->made.python, ".forward ") ? MAIN : event->made.python;
}

static void free_block(struct builder_db *b, int64_t id, const struct event *event)
{
	struct build_event by_node = { .node = event->freed_node, .sequence = 900 };
	struct build_event by_program = { .python = freed_in(event) };

	build_free(b, id, event->freed_node ? &by_node : &by_program);
}

static void check_events_of(enum vt_kind kind, const struct event *events, size_t nr)
{
	struct builder_db *b = build_open("sources.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t ids[32];

	assert_true(nr <= VT_ARRAY_SIZE(ids));
	build_default_kind(b, kind);
	for (size_t i = 0; i < nr; i++) {
		for (size_t k = 0; k < i; k++)
			if (events[k].free_at == (int)i)
				free_block(b, ids[k], &events[k]);
		ids[i] = build_alloc(b, &events[i].made);
	}
	build_close(b);
	if (vt_analysis_open(&analysis, "sources.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++)
		for (size_t k = 0; k < nr; k++) {
			struct vt_verdict verdict;

			if (analysis.model.allocations[i].event != ids[k] || !events[k].owner)
				continue;
			verdict = vt_attribution_judge(&analysis.attribution, i);
			if (strcmp(vt_attribution_owner(&analysis.attribution, verdict.owner),
				   events[k].owner) != 0)
				fail_msg("event %zu: %s by rule %u, not %s", k,
					 vt_attribution_owner(&analysis.attribution,
							      verdict.owner),
					 verdict.rule, events[k].owner);
		}
	vt_analysis_close(&analysis);
	assert_int_equal(unlink("sources.db"), 0);
}

/* Blocks, and the same where the driver is asked for each tensor. */
static void check_events(const struct event *events, size_t nr)
{
	check_events_of(VT_KIND_BLOCK, events, nr);
	check_events_of(VT_KIND_SEGMENT, events, nr);
}

#define HERE(bytes, op, ...)                                                                       \
	{ .size = bytes, .python = "main.py:50 main", .native = OP(op), __VA_ARGS__ }

/* Scored without gradients: no loss, no number of autograd, only what was alive and how large. */
static void what_a_program_makes_of_scores_is_logits(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Embedding, 2), .native = OP(embedding) },
		  NULL, 2, NULL },
		{ { .size = 6 * M, .python = IN(Linear, 3), .native = OP(linear) },
		  "logits", 6, NULL },
		{ HERE(12 * M, _to_copy), "logits", 4, NULL },
		{ HERE(12 * M, div_Tensor), "logits", 6, NULL },
		/* Not as long. */
		{ HERE(7 * M, mul_Tensor), "activations/other", 6, NULL },
		{ HERE(12 * M, exp), "logits", 6, NULL },
		/* They are gone. */
		{ HERE(12 * M, mul_Tensor), "activations/other", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define PICK(bytes, op)                                                                            \
	{ .size = bytes, .python = "pick.py:5 Pick.forward Pick@7 < " MAIN, .native = OP(op) }

/* A module without a product that is called with scores: order, sums and masks are made of them. */
static void what_a_sampler_makes_of_scores_is_logits(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Embedding, 2), .native = OP(embedding) },
		  NULL, 2, NULL },
		{ { .size = 4 * M, .python = IN(Linear, 3), .native = OP(linear) },
		  "logits", 8, NULL },
		/* What the head's call goes on with: a scale. */
		{ { .size = 4 * M, .python = NET, .native = OP(mul_Tensor) }, "logits", 9, NULL },
		{ PICK(8 * M, sort_stable), "logits", 9, NULL },
		{ PICK(5 * M, cumsum), "logits", 9, NULL },
		{ PICK(2 * M, le_Scalar), "logits", 9, NULL },
		{ PICK(M, argmax), "activations/other", 7, NULL },
		{ PICK(4 * M, _softmax), "logits", 9, NULL },
		{ PICK(4 * M, div_Tensor), "logits", 9, NULL },
		/* They are gone. */
		{ PICK(4 * M, mul_Tensor), "activations/other", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define LOOP "gen.py:70 Net.generate Net@1 < " MAIN
#define CODE "net.py:9 Coder.forward Coder@5 < " LOOP

/* An encoder's result goes to every beam; numbers of tokens are no part of it. */
static void what_a_loop_repeats_is_no_input(void **state)
{
	static const struct event events[] = {
		{ { .size = M,
		    .python = "net.py:12 Coder.forward Coder@5 < " LOOP,
		    .native = OP(native_layer_norm) },
		  NULL,
		  0,
		  NULL },
		{ { .size = 4 * M, .python = "gen.py:60 expand < " LOOP, .native = OP(clone) },
		  "activations/other",
		  0,
		  NULL },
		{ { .size = 4 * M, .python = "gen.py:60 expand < " LOOP, .native = OP(full) },
		  "inputs",
		  0,
		  NULL },
		{ { .size = 65536, .python = "gen.py:60 expand < " LOOP, .native = OP(clone) },
		  "inputs",
		  0,
		  NULL },
		/* beams are put in order: the cache's rows, which have a result's size by chance */
		{ { .size = M,
		    .python = "lib/cache_utils.py:9 Layer.reorder_cache < " LOOP,
		    .native = OP(index_select) },
		  "kv cache",
		  0,
		  NULL },
		{ { .size = M, .python = CODE, .native = OP(native_layer_norm) }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define STAGED(line, of) ".py:" #line " Staged.__init__ < runner.py:" #of " Runner.__init__ < " MAIN

/* A runner's buffers: the host fills the one, the model reads the other; workspaces have none. */
static void what_is_made_beside_host_memory_of_its_size_is_input(void **state)
{
	static const struct event events[] = {
		{ { .size = 4 * M, .kind = VT_KIND_PINNED, .python = "x" STAGED(18, 90) },
		  "pinned host memory", 0, NULL },
		{ { .size = 3 * M, .python = "x" STAGED(19, 90), .native = OP(zeros_like) },
		  "inputs", 0, NULL },
		{ { .size = 3 * M, .python = "x" STAGED(19, 91), .native = OP(zeros_like) },
		  "user", 0, NULL },
		{ { .size = 8 * M, .kind = VT_KIND_PINNED, .python = "x" STAGED(18, 92) },
		  "pinned host memory", 0, NULL },
		{ { .size = 3 * M, .python = "x" STAGED(19, 92), .native = OP(zeros_like) },
		  "user", 0, NULL },
		{ { .size = M, .python = NET, .native = OP(add_Tensor) }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define PIECE(line, op, bytes)                                                                     \
	{ { .size = bytes, .python = "main.py:" #line " main", .native = OP(op) }, NULL, 0, NULL }

/* Scaled or moved by the program it is still what the model is given; zeros are not of it. */
static void what_a_program_makes_of_data_is_data(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear) }, NULL, 0, NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 3 }, NULL, 0, NULL },
		{ HERE(8 * M, _to_copy), "inputs", 6, NULL },
		{ HERE(8 * M, sub_Tensor), "inputs", 6, NULL },
		{ HERE(4 * M, mul_Tensor), "inputs", 6, NULL },
		{ HERE(8 * M, zeros), "user", 6, NULL },
		{ HERE(3 * M, mul_Tensor), "user", 0, NULL },
		{ HERE(8 * M, mul_Tensor), "user", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* A loader that is ahead makes the next batch while the last one is evaluated. */
static void what_an_evaluation_makes_of_data_is_data(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear), .forward = 1 },
		  NULL,
		  0,
		  NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 1 }, NULL, 0, NULL },
		{ HERE(512, zeros), NULL, 0, NULL },
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear), .forward = 1 },
		  NULL,
		  0,
		  NULL },
		{ HERE(8 * M, _to_copy), "inputs", 6, NULL },
		{ HERE(8 * M, sub_Tensor), "inputs", 0, NULL },
		{ HERE(3 * M, mul_Tensor), "user", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define METHOD "net.py:30 Net.training_step Net@1 < " MAIN
#define IN_METHOD(bytes, op, ...)                                                                  \
	{                                                                                          \
		.size = bytes, .python = METHOD, .native = OP(op), __VA_ARGS__                     \
	}

/* A module's method that prepares a batch before it calls its layers; what _apply makes is none. */
static void what_a_method_makes_of_data_is_data(void **state)
{
	static const struct event events[] = {
		{ { .size = 2 * M,
		    .python = TORCH "/nn/modules/module.py:9 Module._apply Net@1 < " MAIN,
		    .native = OP(_to_copy) },
		  NULL,
		  0,
		  NULL },
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear) }, NULL, 0, NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 3 }, NULL, 0, NULL },
		{ IN_METHOD(8 * M, randn), NULL, 7, NULL },
		{ IN_METHOD(8 * M, flip), "inputs", 7, NULL },
		{ IN_METHOD(4 * M, mul_Tensor), "inputs", 7, NULL },
		{ IN_METHOD(3 * M, mul_Tensor), "unknown", 7, NULL },
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear) }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define UNGRADED .grad = VT_GRAD_DISABLED

/* Of an evaluation that calls another method than forward; what it keeps is the program's. */
static void what_a_method_computes_in_an_evaluation_is_activation(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear), .forward = 1 },
		  NULL,
		  0,
		  NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 1 }, NULL, 0, NULL },
		{ HERE(512, zeros, .forward = 1), NULL, 0, NULL },
		{ { .size = M,
		    .python = IN(Linear, 3),
		    .native = OP(linear),
		    .forward = 1,
		    UNGRADED },
		  NULL,
		  6,
		  NULL },
		{ IN_METHOD(3 * M, exp, .forward = 1, UNGRADED), "activations/other", 5, NULL },
		{ IN_METHOD(5 * M, exp, .forward = 1, UNGRADED), "unknown", 0, NULL },
		{ HERE(512, zeros, .forward = 1), NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define RECORDED .grad = VT_GRAD_ENABLED

/* Rows of a table that nothing trains, although autograd records; not those of a trained one. */
static void rows_that_autograd_did_not_record_are_inputs(void **state)
{
	static const struct event events[] = {
		{ { .size = M,
		    .python = IN(Linear, 3),
		    .native = OP(linear),
		    .forward = 2,
		    RECORDED },
		  NULL,
		  0,
		  NULL },
		{ HERE(8 * M, index_Tensor, .forward = 2, RECORDED), "inputs", 4, NULL },
		{ HERE(4 * M, index_Tensor, .forward = 3, RECORDED), "activations/other", 4, NULL },
		{ HERE(2 * M, mul_Tensor, .forward = 3, RECORDED), "activations/other", 4, NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 2 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* Three equal pieces that were brought to the device; not four, and not what was chosen. */
static void a_batch_from_pieces_of_data_is_an_input(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear) }, NULL, 0, NULL },
		PIECE(20, _to_copy, M),
		PIECE(20, _to_copy, M),
		PIECE(20, _to_copy, M),
		PIECE(21, argmax, 5 * M / 4),
		PIECE(21, argmax, 5 * M / 4),
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 3 }, NULL, 0, NULL },
		{ HERE(3 * M, cat), "inputs", 0, NULL },
		{ HERE(4 * M, cat), "user", 0, NULL },
		{ HERE(5 * M / 2, cat), "user", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* Targets: what was picked for each picture, moved by something else, one by one. */
static void a_batch_from_what_was_made_of_data_is_an_input(void **state)
{
	static const struct event events[] = {
		{ { .size = M, .python = IN(Linear, 3), .native = OP(linear) }, NULL, 0, NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 3 }, NULL, 0, NULL },
		PIECE(20, _to_copy, M),
		PIECE(21, sub_Tensor, M),
		PIECE(21, sub_Tensor, M),
		PIECE(21, sub_Tensor, M),
		PIECE(22, zeros, 5 * M / 4),
		PIECE(22, zeros, 5 * M / 4),
		{ HERE(3 * M, stack), "inputs", 0, NULL },
		{ HERE(5 * M / 2, stack), "user", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define GRAPH "<eval_with_key>.3:18 forward GraphModule@8 < " NET
#define GRAPH_OP(bytes, op)                                                                        \
	{ .size = bytes, .python = GRAPH, .native = OP(op), .forward = 4 }

/* All operators of a compiled graph have the number of its one node. */
static void behind_the_last_product_of_a_compiled_graph_are_logits(void **state)
{
	static const struct event events[] = {
		{ { .size = 512, .python = NET, .forward = 1 }, NULL, 0, NULL },
		{ GRAPH_OP(2 * M, mm), "activations/other", 7, "CompiledFunctionBackward" },
		{ GRAPH_OP(2 * M, tanh), "activations/other", 7, "CompiledFunctionBackward" },
		{ GRAPH_OP(8 * M, mm), "logits", 8, NULL },
		{ GRAPH_OP(16 * M, _to_copy), "logits", 8, NULL },
		{ HERE(16 * M, _log_softmax, .forward = 6), "logits", 6, "LogSoftmaxBackward0" },
		{ { .size = 512, .node = "LogSoftmaxBackward0", .sequence = 6 }, NULL, 0, NULL },
		{ { .size = 512, .node = "CompiledFunctionBackward", .sequence = 4 },
		  NULL, 0, NULL },
		{ HERE(512, mul_Tensor), NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* A distribution normalises scores outside of modules; what attends does so inside of them. */
static void scores_that_a_program_normalises_are_logits(void **state)
{
	static const struct event events[] = {
		{ { .size = 2 * M, .python = IN(Router, 6), .native = OP(mm), .forward = 2 },
		  "activations/other", 6, "MmBackward0" },
		{ { .size = 512, .python = IN(Router, 6), .native = OP(logsumexp), .forward = 3 },
		  "activations/other", 6, "LogsumexpBackward0" },
		{ { .size = M, .python = IN(Linear, 3), .native = OP(addmm), .forward = 70 },
		  "logits", 6, "SubBackward0" },
		{ HERE(512, logsumexp, .forward = 71), "logits", 6, "SubBackward0" },
		{ HERE(M, sub_Tensor, .forward = 72), "logits", 6, "GatherBackward0" },
		{ HERE(512, gather, .forward = 73), "activations/other", 6, NULL },
		{ { .size = 512, .node = "AddmmBackward0", .sequence = 70 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_program_makes_of_scores_is_logits),
		TEST(what_a_sampler_makes_of_scores_is_logits),
		TEST(what_is_made_beside_host_memory_of_its_size_is_input),
		TEST(what_a_loop_repeats_is_no_input),
		TEST(what_a_program_makes_of_data_is_data),
		TEST(what_an_evaluation_makes_of_data_is_data),
		TEST(what_a_method_makes_of_data_is_data),
		TEST(what_a_method_computes_in_an_evaluation_is_activation),
		TEST(rows_that_autograd_did_not_record_are_inputs),
		TEST(a_batch_from_pieces_of_data_is_an_input),
		TEST(a_batch_from_what_was_made_of_data_is_an_input),
		TEST(behind_the_last_product_of_a_compiled_graph_are_logits),
		TEST(scores_that_a_program_normalises_are_logits),
	};

	return cmocka_run_group_tests_name("attribution by sources", tests, NULL, NULL);
}
