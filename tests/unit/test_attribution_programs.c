/* SPDX-License-Identifier: MIT */
/*
 * Whose byte is it, where that follows from what the program does before and behind: short
 * programs, one allocation per line.
 */
#include "tests/lib/unit.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define TORCH "/usr/lib/python3/dist-packages/torch"
#define MODEL "train.py:9 Net.forward Net@1 < train.py:40 main"
#define BLOCK "train.py:20 Block.forward Block@2 < " MODEL
#define IN(type, address)                                                                          \
	TORCH "/nn/modules/x.py:5 " #type ".forward " #type "@" #address " < " BLOCK
#define STEP TORCH "/optim/adamw.py:90 AdamW.step AdamW@7 < train.py:44 main"
#define OP(name)                                                                                   \
	"libtorch_cuda.so!at::native::x < libtorch_cpu.so!at::_ops::" #name                        \
	"::call(at::Tensor const&)"

/* One allocation of a program, in order, and what it is; with no owner it only sets the scene. */
struct event {
	struct build_event made;
	const char *owner;
	int free_at; /* index of the event before which it is freed; 0: never */
	const char *freed_node; /* that frees it; NULL: the program does */
};

static void check_events_of(enum vt_kind kind, const struct event *events, size_t nr)
{
	struct builder_db *b = build_open("events.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t ids[32];

	assert_true(nr <= VT_ARRAY_SIZE(ids));
	build_default_kind(b, kind);
	for (size_t i = 0; i < nr; i++) {
		struct build_event event = events[i].made;

		for (size_t k = 0; k < i; k++)
			if (events[k].free_at == (int)i)
				build_free(b, ids[k],
					   events[k].freed_node ?
						   &(struct build_event){
							   .node = events[k].freed_node,
							   .sequence = 900 } :
						   &(struct build_event){
							   .python = "main.py:9 main" });
		event.size = event.size ? event.size : 4096;
		ids[i] = build_alloc(b, &event);
	}
	build_close(b);
	if (vt_analysis_open(&analysis, "events.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++)
		for (size_t k = 0; k < nr; k++) {
			struct vt_verdict verdict;

			if (analysis.model.allocations[i].event != ids[k] || !events[k].owner)
				continue;
			verdict = vt_attribution_judge(&analysis.attribution, i);
			if (strcmp(vt_attribution_owner(&analysis.attribution, verdict.owner),
				   events[k].owner) != 0)
				fail_msg("event %zu: %s, not %s", k,
					 vt_attribution_owner(&analysis.attribution,
							      verdict.owner),
					 events[k].owner);
		}
	vt_analysis_close(&analysis);
	assert_int_equal(unlink("events.db"), 0);
}

/* Blocks, and the same where the driver is asked for each tensor. */
static void check_events(const struct event *events, size_t nr)
{
	check_events_of(VT_KIND_BLOCK, events, nr);
	check_events_of(VT_KIND_SEGMENT, events, nr);
}

#define OUTSIDE "main.py:9 main"

static void outputs_that_inference_keeps_are_the_users(void **state)
{
	static const struct event events[] = {
		{ { .python = OUTSIDE, .native = OP(_to_copy) }, "inputs", 0, NULL },
		{ { .python = IN(Linear, 4) }, "activations/mlp", 3, NULL },
		{ { .python = IN(Conv2d, 5) }, "user", 0, NULL },
		{ { .python = OUTSIDE, .native = OP(_to_copy) }, "inputs", 0, NULL },
		{ { .python = IN(Linear, 4) }, "activations/mlp", 6, NULL },
		{ { .python = IN(Conv2d, 5) }, "user", 0, NULL },
		{ { .python = OUTSIDE, .native = OP(_to_copy) }, "inputs", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* The thread's last number is that of the step before: nothing evaluated lies near its loss. */
static void an_evaluation_has_no_logits_by_old_numbers(void **state)
{
	static const struct event events[] = {
		{ { .python = MODEL, .forward = 800 }, "logits", 3, NULL },
		{ { .node = "LogSoftmaxBackward0", .sequence = 803 }, "logits", 3, NULL },
		{ { .node = "MmBackward0", .sequence = 800 }, NULL, 3, NULL },
		{ { .python = STEP, .forward = 803 }, NULL, 0, NULL },
		{ { .python = OUTSIDE, .forward = 803 }, NULL, 0, NULL },
		{ { .python = MODEL, .forward = 803, .native = OP(addmm) }, NULL, 0, NULL },
		{ { .python = MODEL, .forward = 803, .native = OP(_log_softmax) }, NULL, 0, NULL },
		{ { .python = OUTSIDE, .forward = 803, .native = OP(argmax) }, "user", 0, NULL },
		{ { .python = "lib/cache_utils.py:9 Layer.update < " IN(SelfAttention, 5),
		    .forward = 803 },
		  "kv cache",
		  0, NULL },
		{ { .python = OUTSIDE, .forward = 803 }, NULL, 0, NULL },
		{ { .python = MODEL, .forward = 804 }, NULL, 0, NULL },
		{ { .node = "MmBackward0", .sequence = 804 }, NULL, 0, NULL },
		{ { .python = STEP, .forward = 804 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* A gradient penalty: the first pass is recorded, and the second uses what it made. */
static void what_a_second_pass_needs_is_no_gradient(void **state)
{
	static const struct event events[] = {
		{ { .python = MODEL, .forward = 1 }, NULL, 0, NULL },
		{ { .node = "ConvolutionBackward0", .sequence = 1 },
		  "activation gradients",
		  4,
		  "ConvolutionBackwardBackward0" },
		{ { .node = "ConvolutionBackward0", .sequence = 1 }, "gradients", 0, NULL },
		{ { .python = MODEL, .forward = 2 }, NULL, 0, NULL },
		{ { .node = "AddmmBackward0", .sequence = 2 }, NULL, 0, NULL },
		{ { .python = STEP, .forward = 2 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/*
 * What a program asks autograd.grad() for and goes on with: the gradient of a layer's input by the
 * formula that made it, any other by its size, which is that of no parameter's gradient.
 */
static void what_a_recorded_pass_returns_is_no_gradient(void **state)
{
#define LINEAR TORCH "/nn/modules/linear.py:134 Linear.forward Linear@2 < " MODEL
#define MAT1   "libtorch_cpu.so!torch::autograd::generated::details::mm_mat1_backward"
#define MAT2   "libtorch_cpu.so!torch::autograd::generated::details::mm_mat2_backward"
#define NODE(n, numbered, ...)                                                                     \
	{ .node = "AddmmBackward0", .sequence = n, .forward = numbered, __VA_ARGS__ }
	static const struct event events[] = {
		{ { .python = LINEAR, .forward = 2 }, NULL, 0, NULL },
		/* The engine's thread numbers nodes: the pass is recorded. */
		{ NODE(2, 1), NULL, 4, NULL },
		{ NODE(2, 3, .native = MAT1, .forward_python = LINEAR),
		  "activations/mlp",
		  0,
		  NULL },
		{ NODE(1, 4, .size = 8192), "activations/other", 0, NULL },
		{ { .python = STEP, .forward = 7 }, NULL, 0, NULL },
		/* It does not. */
		{ { .python = LINEAR, .forward = 12 }, NULL, 0, NULL },
		{ NODE(12, 4), NULL, 9, NULL },
		{ NODE(12, 4, .native = MAT1, .forward_python = LINEAR), "gradients", 0, NULL },
		{ NODE(12, 4, .native = MAT2, .forward_python = LINEAR), "gradients", 0, NULL },
		{ { .python = STEP, .forward = 17 }, NULL, 0, NULL },
		/* autograd.grad() without a graph. */
		{ { .python = LINEAR, .forward = 22 }, NULL, 0, NULL },
		{ { .python = TORCH "/autograd/__init__.py:503 grad < main.py:9 main",
		    .forward = 23 },
		  NULL, 0, NULL },
		{ NODE(22, 4, .native = MAT1, .forward_python = LINEAR),
		  "activation gradients",
		  0,
		  NULL },
		{ NODE(22, 4, .native = MAT2, .forward_python = LINEAR), "gradients", 0, NULL },
		{ { .python = STEP, .forward = 27 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* .to(): parameters and buffers at two lines; module trees are walked at a third. */
static void buffers_that_are_moved_are_told_from_weights(void **state)
{
#define APPLY(line) TORCH "/nn/modules/module.py:" #line " Module._apply "
#define CONVERT     TORCH "/nn/modules/module.py:1300 Module.to.<locals>.convert Net@1 < "
	static const struct event events[] = {
		{ { .python = CONVERT APPLY(965) "Linear@3 < " APPLY(930) "Net@1 < " OUTSIDE },
		  "weights",
		  0, NULL },
		{ { .python = CONVERT APPLY(1035) "Rope@4 < " APPLY(930) "Net@1 < " OUTSIDE },
		  "buffers",
		  0, NULL },
		{ { .python = CONVERT APPLY(965) "Net@1 < " OUTSIDE }, "weights", 0, NULL },
		{ { .python = MODEL }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

static void without_buffers_everything_moved_is_a_weight(void **state)
{
	static const struct event events[] = {
		{ { .python = CONVERT APPLY(965) "Linear@3 < " APPLY(930) "Net@1 < " OUTSIDE },
		  "weights",
		  0, NULL },
		{ { .python = MODEL }, NULL, 0, NULL },
		/* with its gradient, later */
		{ { .python = CONVERT APPLY(965) "Linear@3 < " OUTSIDE }, "weights", 0, NULL },
		{ { .python = CONVERT APPLY(980) "Linear@3 < " OUTSIDE }, "weights", 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* Some classes have an _apply of their own, which makes one block of all their parameters. */
static void what_an_own_apply_makes_says_nothing_of_lines(void **state)
{
#define RECURRENT "/nn/modules/rnn.py:"
	static const struct event events[] = {
		{ { .python = CONVERT APPLY(965) "Linear@3 < " APPLY(930) "Net@1 < " OUTSIDE },
		  "weights",
		  0, NULL },
		{ { .python = TORCH RECURRENT "200 LSTM.flatten_parameters LSTM@4 < "
		    TORCH RECURRENT "270 LSTM._apply LSTM@4 < "
		    APPLY(930) "Net@1 < " OUTSIDE },
		  "weights",
		  0, NULL },
		{ { .python = MODEL }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* Without modules nothing tells a weight from a batch that is made once. */
static void what_functions_make_at_random_is_the_users(void **state)
{
	static const struct event events[] = {
		{ { .python = OUTSIDE, .native = OP(randn) }, "user", 0, NULL },
		{ { .python = OUTSIDE, .native = OP(randn) }, "inputs", 2, NULL },
		{ { .python = OUTSIDE, .native = OP(mm), .forward = 1 }, NULL, 0, NULL },
		{ { .node = "MmBackward0", .sequence = 1 }, NULL, 4, "TanhBackward0" },
		{ { .node = "TanhBackward0", .sequence = 2 }, NULL, 5, "TanhBackward0" },
		{ { .python = OUTSIDE, .native = OP(mm), .forward = 3 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* One image per iteration, held until the next; a table made once. */
static void what_every_call_makes_is_no_buffer(void **state)
{
	static const struct event events[] = {
		{ { .python = IN(Tanh, 4), .forward = 1 }, NULL, 12, NULL },
		{ { .python = IN(Rope, 5), .forward = 2 }, "buffers", 0, NULL },
		{ { .node = "TanhBackward0", .sequence = 1 }, NULL, 3, NULL },
		{ { .python = STEP, .forward = 2 }, NULL, 0, NULL },
		{ { .python = OUTSIDE, .forward = 2 }, NULL, 0, NULL },
		{ { .python = IN(Tanh, 4), .forward = 3 }, "activations/mlp", 12, NULL },
		{ { .node = "TanhBackward0", .sequence = 3 }, NULL, 7, NULL },
		{ { .python = STEP, .forward = 3 }, NULL, 0, NULL },
		{ { .python = OUTSIDE, .forward = 3 }, NULL, 0, NULL },
		{ { .python = IN(Tanh, 4), .forward = 4 }, NULL, 12, NULL },
		{ { .node = "TanhBackward0", .sequence = 4 }, NULL, 11, NULL },
		{ { .python = STEP, .forward = 4 }, NULL, 0, NULL },
		{ { .python = OUTSIDE, .forward = 4 }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* All have the size of the gradient, which is what makes them its parameter and its state. */
static void leaves_are_as_large_as_their_gradients(void **state)
{
	static const struct event events[] = {
		{ { .python = OUTSIDE, .native = OP(div_Tensor) }, "weights", 0, NULL },
		{ { .python = OUTSIDE, .native = OP(zeros_like) }, "optimizer", 0, NULL },
		{ { .python = OUTSIDE, .native = OP(index_Tensor) }, "inputs", 3, NULL },
		{ { .python = "net.py:4 apply < main.py:9 main", .forward = 900 },
		  NULL, 5, "MmBackward0" },
		{ { .node = "MmBackward0", .sequence = 900 }, "gradients", 0, NULL },
		{ { .python = STEP }, "optimizer", 0, NULL },
		{ { .python = OUTSIDE }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* In a program of modules, data can be as large as a weight, whose gradient it is then not. */
static void data_of_a_weights_size_is_data(void **state)
{
	static const struct event events[] = {
		{ { .python = OUTSIDE, .native = OP(div_Tensor) }, "user", 0, NULL },
		{ { .python = IN(Linear, 4), .forward = 900 }, NULL, 3, "MmBackward0" },
		{ { .node = "MmBackward0", .sequence = 900 }, "gradients", 0, NULL },
		{ { .python = STEP }, "optimizer", 0, NULL },
		{ { .python = OUTSIDE }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

static void without_a_gradient_a_size_says_nothing(void **state)
{
	static const struct event events[] = {
		{ { .python = OUTSIDE, .native = OP(div_Tensor) }, "user", 0, NULL },
		{ { .python = OUTSIDE, .native = OP(zeros_like) }, "user", 0, NULL },
		{ { .python = IN(Linear, 4), .forward = 900 }, NULL, 3, "MmBackward0" },
		{ { .python = OUTSIDE }, NULL, 0, NULL },
	};

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

/* A fused loss: its own node lets go of the sum, and hands on a gradient as large. */
static void gradient_that_a_loss_makes_in_forward(void **state)
{
#define LOSS "own.py:7 Loss.forward < " TORCH "/autograd/function.py:581 Function.apply < " MODEL
	static const struct event events[] = {
		{ { .python = IN(Linear, 4), .forward = 1 }, NULL, 4, "MmBackward0" },
		{ { .python = LOSS, .native = OP(zeros_like), .forward = 2 },
		  "gradients", 4, "PyNode" },
		{ { .python = LOSS, .native = OP(mul_Tensor), .forward = 2 },
		  "activations/other", 4, "PyNode" },
		{ { .node = "PyNode", .sequence = 900 }, "gradients", 0, NULL },
		{ { .python = STEP }, "optimizer", 0, NULL },
		{ { .python = OUTSIDE }, NULL, 0, NULL },
	};
#undef LOSS

	(void)state;
	check_events(events, VT_ARRAY_SIZE(events));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(outputs_that_inference_keeps_are_the_users),
		TEST(an_evaluation_has_no_logits_by_old_numbers),
		TEST(what_a_second_pass_needs_is_no_gradient),
		TEST(what_a_recorded_pass_returns_is_no_gradient),
		TEST(buffers_that_are_moved_are_told_from_weights),
		TEST(without_buffers_everything_moved_is_a_weight),
		TEST(what_an_own_apply_makes_says_nothing_of_lines),
		TEST(what_functions_make_at_random_is_the_users),
		TEST(what_every_call_makes_is_no_buffer),
		TEST(leaves_are_as_large_as_their_gradients),
		TEST(data_of_a_weights_size_is_data),
		TEST(without_a_gradient_a_size_says_nothing),
		TEST(gradient_that_a_loss_makes_in_forward),
	};

	return cmocka_run_group_tests_name("attribution of programs", tests, NULL, NULL);
}
