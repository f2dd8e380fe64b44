/* SPDX-License-Identifier: MIT */
/*
 * Whose byte is it in programs without modules: weights, state and caches in variables of their
 * own, as a probe saw them and as nobody did.
 */
#include "tests/lib/unit.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/allocations_sql.h"
#include "tests/lib/database_builder.h"

#define MAIN "main.py:9 main"
#define STEP "main.py:30 update < main.py:12 main"
#define OP(name)                                                                                   \
	"libtorch_cuda.so!at::native::x < libtorch_cpu.so!at::_ops::" #name                        \
	"::call(at::Tensor const&)"
#define GRAPH "libtorch_cpu.so!torch::autograd::SavedVariable::reset_data()"
#define M     (1ull << 20)

/* One allocation of a program, in order, and what it is; with no owner it only sets the scene. */
struct event {
	struct build_event made;
	const char *owner;
	int free_at;             /* index of the event before which it is freed; 0: never */
	const char *name;        /* of a variable in which a probe saw it at the end, or when... */
	const char *shape;       /* ... it was freed; NULL: none did */
	unsigned flags;          /* enum vt_tensor_flag */
	enum vt_role role;       /* 0: a variable */
	const char *freed_native;
	const char *freed_node; /* that frees it; NULL: the program does */
};

static void see(struct builder_db *b, const struct event *event, int64_t id)
{
	if (event->name)
		build_tensor(b, &(struct build_tensor){ .allocation = id,
							.role = event->role ? event->role :
									      VT_ROLE_VARIABLE,
							.flags = event->flags,
							.name = event->name,
							.holder = "main.py:main",
							.shape = event->shape });
}

static void check_events_of(enum vt_kind kind, const struct event *events, size_t nr)
{
	struct builder_db *b = build_open("functions.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t ids[32];

	assert_true(nr <= VT_ARRAY_SIZE(ids));
	build_default_kind(b, kind);
	build_device(b, 0, 1 << 30, 0);
	for (size_t i = 0; i < nr; i++) {
		for (size_t k = 0; k < i; k++) {
			if (events[k].free_at != (int)i)
				continue;
			see(b, &events[k], ids[k]);
			build_free(b, ids[k],
				   &(struct build_event){
					   .python = events[k].freed_node ? NULL : MAIN,
					   .node = events[k].freed_node,
					   .sequence = events[k].freed_node ? 900 : 0,
					   .native = events[k].freed_native });
		}
		ids[i] = build_alloc(b, &events[i].made);
	}
	for (size_t i = 0; i < nr; i++)
		if (!events[i].free_at)
			see(b, &events[i], ids[i]);
	build_close(b);
	if (vt_analysis_open(&analysis, "functions.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++)
		for (size_t k = 0; k < nr; k++) {
			struct vt_verdict verdict;
			const char *owner;

			if (analysis.model.allocations[i].event != ids[k] || !events[k].owner)
				continue;
			verdict = vt_attribution_judge(&analysis.attribution, i);
			owner = vt_attribution_owner(&analysis.attribution, verdict.owner);
			if (strcmp(owner, events[k].owner) != 0)
				fail_msg("event %zu: %s, not %s", k, owner, events[k].owner);
		}
	vt_analysis_close(&analysis);
	assert_int_equal(unlink("functions.db"), 0);
}

/* Blocks, and the same where the driver is asked for each tensor. */
static void check_events(const struct event *events, size_t nr)
{
	check_events_of(VT_KIND_BLOCK, events, nr);
	check_events_of(VT_KIND_SEGMENT, events, nr);
}

#define CHECK(events) check_events(events, VT_ARRAY_SIZE(events))
#define MADE(bytes, op, ...)                                                                       \
	{ .size = (bytes), .python = MAIN, .native = OP(op), __VA_ARGS__ }
#define SEEN(variable, sides) .name = variable, .shape = sides
#define NODE(bytes, name, number)                                                                  \
	{ .size = (bytes), .node = name, .sequence = (number) }

/* Two weights of one size, a copy of one, zeros beside them; data has another size. */
static void gradients_tell_weights_and_state_without_a_probe(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "weights" },
		{ .made = MADE(4 * M, randn), .owner = "weights" },
		{ .made = MADE(4 * M, zeros_like), .owner = "optimizer" },
		{ .made = MADE(4 * M, clone), .owner = "user" },
		{ .made = MADE(2 * M, zeros_like), .owner = "user" },
		{ .made = MADE(2 * M, randn), .owner = "user" },
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients", .free_at = 9 },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients", .free_at = 9 },
		{ .made = MADE(1 * M, mul) },
	};

	(void)state;
	CHECK(events);
}

/* The state stands first; what requires a gradient says so. */
static void what_requires_a_gradient_is_the_weight(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "user/other",
		  SEEN("other", "1024,1024"), .flags = VT_TENSOR_LEAF },
		{ .made = MADE(4 * M, randn), .owner = "weights", SEEN("w", "1024,1024"),
		  .flags = VT_TENSOR_LEAF | VT_TENSOR_REQUIRES_GRAD },
		{ .made = MADE(4 * M, zeros_like), .owner = "optimizer",
		  SEEN("speed", "1024,1024"), .flags = VT_TENSOR_LEAF },
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients", .free_at = 6 },
		{ .made = MADE(1 * M, mul) },
		{ .made = MADE(1 * M, mul) },
	};

	(void)state;
	CHECK(events);
}

/* New weights and new state in every step, which take the places of the old ones. */
#define RENEWED(state_name, weight_name)                                                           \
	{                                                                                          \
		{ .made = MADE(4 * M, randn), .owner = "weights", .free_at = 6,                    \
		  SEEN(weight_name, "1024,1024") },                                                \
		{ .made = MADE(4 * M, zeros), .owner = "optimizer", .free_at = 5,                  \
		  SEEN(state_name, "1024,1024") },                                                 \
		{ .made = MADE(1 * M, mm, .forward = 1) },                                         \
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients" },                   \
		{ .made = { .size = 4 * M, .python = STEP, .native = OP(add_Tensor) },             \
		  .owner = "optimizer",                                                            \
		  SEEN(state_name, "1024,1024") },                                                 \
		{ .made = { .size = 4 * M, .python = "main.py:31 update < " MAIN,                  \
		    .native = OP(sub_Tensor) }, .owner = "weights",                                \
		  SEEN(weight_name, "1024,1024") },                                                \
		{ .made = MADE(1 * M, mm, .forward = 2) },                                         \
	}

static void what_takes_their_place_is_the_same(void **state)
{
	static const struct event named[] = RENEWED("m.0", "p.0");
	static const struct event unseen[] = RENEWED(NULL, NULL);

	(void)state;
	CHECK(named);
	CHECK(unseen);
}

/* torch.func records the backward pass too, and drops that graph unused. */
static void what_an_unused_graph_kept_is_no_gradient(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "activation gradients",
		  .free_at = 3, .freed_native = GRAPH },
		{ .made = NODE(2 * M, "MmBackward0", 1), .owner = "gradients", .free_at = 4 },
		{ .made = MADE(1 * M, mul) },
		{ .made = MADE(1 * M, mul) },
	};

	(void)state;
	CHECK(events);
}

/* Nothing is recorded: the container's form, and what is chosen from. */
static void inference_of_functions_has_its_owners(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(2 * M, randn), .owner = "weights", SEEN("net.0.up", "512,2048") },
		{ .made = MADE(1 * M, randn), .owner = "weights", SEEN("net.0.out", "512,1024") },
		{ .made = MADE(2 * M, randn), .owner = "weights", SEEN("net.1.up", "512,2048") },
		{ .made = MADE(1 * M, randn), .owner = "weights", SEEN("net.1.out", "512,1024") },
		{ .made = MADE(8 * M, randn), .owner = "weights", SEEN("net.table", "8192,512") },
		{ .made = MADE(8 * M, zeros), .owner = "kv cache",
		  SEEN("kv_cache", "2,1024,8,64") },
		{ .made = MADE(8 * M, zeros), .owner = "kv cache", .role = VT_ROLE_ATTRIBUTE,
		  SEEN("store", "2,1024,8,64") },
		{ .made = MADE(1 * M, native_layer_norm), .owner = "activations/norm",
		  .free_at = 9 },
		{ .made = MADE(2 * M, mm), .owner = "activations/other", .free_at = 10 },
		{ .made = MADE(4 * M, mm), .owner = "logits", .free_at = 12 },
		{ .made = MADE(4 * M, _softmax), .owner = "logits", .free_at = 12 },
		{ .made = MADE(512, argmax) },
		{ .made = MADE(512, mul) },
	};
	static const struct event unseen[] = {
		{ .made = MADE(8 * M, randn), .owner = "weights" },
		{ .made = { .size = 8 * M, .python = "main.py:3 BlockPool.__init__ < " MAIN,
		    .native = OP(zeros) }, .owner = "kv cache" },
		{ .made = MADE(1 * M, native_layer_norm), .owner = "activations/norm",
		  .free_at = 4 },
		{ .made = MADE(2 * M, mm), .owner = "activations/other", .free_at = 4 },
		{ .made = MADE(4 * M, mm), .owner = "logits", .free_at = 6 },
		{ .made = MADE(512, argmax) },
		{ .made = MADE(512, mul) },
	};

	(void)state;
	CHECK(events);
	CHECK(unseen);
}

/* A list of batches has numbers too, and results in rows that were zeros; that is no network. */
static void data_in_a_list_is_no_weight(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(2 * M, randn), .owner = "user/data", SEEN("data.0", "512,2048") },
		{ .made = MADE(2 * M, randn), .owner = "user/data", SEEN("data.1", "512,2048") },
		{ .made = MADE(2 * M, zeros), .owner = "user/pairs",
		  SEEN("pairs.0.x", "512,2048") },
		{ .made = MADE(1 * M, zeros), .owner = "user/pairs",
		  SEEN("pairs.0.y", "512,1024") },
		{ .made = MADE(2 * M, zeros), .owner = "user/pairs",
		  SEEN("pairs.1.x", "512,2048") },
		{ .made = MADE(1 * M, zeros), .owner = "user/pairs",
		  SEEN("pairs.1.y", "512,1024") },
		{ .made = MADE(1 * M, native_layer_norm) },
	};

	(void)state;
	CHECK(events);
}

/* State that is made in the first step; a temporary beside it. */
static void zeros_that_the_first_step_makes_are_state(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "weights" },
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients", .free_at = 6 },
		{ .made = MADE(4 * M, zeros_like, .forward = 1), .owner = "optimizer" },
		{ .made = MADE(4 * M, zeros_like, .forward = 1), .owner = "activations/other",
		  .free_at = 6 },
		{ .made = MADE(1 * M, mul, .forward = 1) },
		{ .made = MADE(1 * M, mm, .forward = 2) },
		{ .made = NODE(4 * M, "MmBackward0", 2), .owner = "gradients", .free_at = 9 },
		{ .made = MADE(1 * M, mul, .forward = 2) },
		{ .made = MADE(1 * M, mm, .forward = 3) },
		{ .made = NODE(4 * M, "MmBackward0", 3), .owner = "gradients", .free_at = 12 },
		{ .made = MADE(1 * M, mul, .forward = 3) },
		{ .made = MADE(1 * M, mul, .forward = 3) },
	};

	(void)state;
	CHECK(events);
}

#define WEIGHT(bytes) { .made = { .size = (bytes), .python = "net.py:3 Net.__init__ Net@1" } }
#define COPY(bytes, what)                                                                          \
	{ .made = { .size = (bytes), .python = "main.py:20 keep < " MAIN, .native = OP(clone) },   \
	  .owner = what }
#define STATE(bytes)                                                                               \
	{ .made = { .size = (bytes), .python = STEP, .native = OP(zeros_like), .forward = 1 },     \
	  .owner = "optimizer" }
#define OF_MODULE(number)                                                                          \
	{ .made = { .size = 1 * M, .python = "net.py:9 Net.forward Net@1 < " MAIN,                 \
		    .native = OP(mm), .forward = (number) } }
#define BACKWARD(number, freed)                                                                    \
	{ .made = NODE(2 * M, "MmBackward0", number), .owner = "gradients", .free_at = (freed) },  \
	{ .made = NODE(12 * M, "MmBackward0", number), .owner = "gradients", .free_at = (freed) }, \
	{ .made = NODE(1024, "MmBackward0", number), .owner = "gradients", .free_at = (freed) }

/* 1.5 KiB of twice 0.75 KiB, which take 1 KiB. */
static void masters_in_twice_the_width_belong_to_the_optimizer(void **state)
{
	static const struct event events[] = {
		WEIGHT(2 * M), WEIGHT(12 * M), WEIGHT(1024),
		COPY(4 * M, "optimizer"), COPY(24 * M, "optimizer"), COPY(1536, "optimizer"),
		{ .made = { .size = 4 * M, .python = "main.py:21 load < " MAIN,
			    .native = OP(clone) }, .owner = "user" },
		OF_MODULE(1), BACKWARD(1, 14),
		STATE(4 * M), STATE(24 * M), STATE(1536),
		OF_MODULE(2), BACKWARD(2, 18),
		OF_MODULE(3),
	};

	(void)state;
	CHECK(events);
}

/* An average of the weights in twice the width: no state is as wide. */
static void averages_in_twice_the_width_are_the_programs_own(void **state)
{
	static const struct event events[] = {
		WEIGHT(2 * M), WEIGHT(12 * M), WEIGHT(1024),
		COPY(4 * M, "user"), COPY(24 * M, "user"), COPY(1536, "user"),
		OF_MODULE(1), BACKWARD(1, 10),
		OF_MODULE(2), BACKWARD(2, 14),
		OF_MODULE(3),
	};

	(void)state;
	CHECK(events);
}

/* A fused loss makes the gradient of the head's weight in its forward, by an own function. */
static void a_gradient_made_in_forward_is_a_gradient(void **state)
{
#define APPLY(op) OP(op) " < libtorch_python.so!THPFunction_apply(_object*, _object*)"
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "weights" },
		{ .made = { .size = 2 * M, .python = MAIN, .native = APPLY(mm), .forward = 1 } },
		{ .made = { .size = 4 * M, .python = MAIN, .native = APPLY(zeros_like),
			    .forward = 1 },
		  .owner = "gradients", .free_at = 5, .freed_node = "OneSweepBackward" },
		{ .made = { .size = 2 * M, .python = MAIN, .native = APPLY(zeros_like),
			    .forward = 1 },
		  .owner = "activations/other", .free_at = 5, .freed_node = "OneSweepBackward" },
		{ .made = NODE(4 * M, "OneSweepBackward", 1), .owner = "gradients" },
		{ .made = MADE(1 * M, mul, .forward = 1) },
	};

	(void)state;
	CHECK(events);
}

/*
 * What a custom function rounds to quantise a weight, and keeps for its backward; and what it
 * returns, which the next operator keeps.
 */
static void a_rounded_weight_is_no_gradient(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "weights" },
		{ .made = { .size = 2 * M, .python = MAIN, .native = APPLY(mm), .forward = 1 } },
		{ .made = { .size = 4 * M, .python = MAIN, .native = APPLY(round), .forward = 1 },
		  .owner = "activations/other",
		  .free_at = 5,
		  .freed_node = "RoundBackward" },
		{ .made = { .size = 4 * M, .python = MAIN, .native = APPLY(mul), .forward = 1 },
		  .owner = "activations/conv",
		  .free_at = 5,
		  .freed_node = "ConvolutionBackward0" },
		{ .made = NODE(4 * M, "RoundBackward", 1), .owner = "gradients" },
		{ .made = MADE(1 * M, mul, .forward = 1) },
	};

	(void)state;
	CHECK(events);
}

/* A custom backward that runs its solver again, with recording switched on and off; one node. */
static void what_an_own_backward_records_is_an_activation(void **state)
{
#define AGAIN(what, number)                                                                        \
	{                                                                                          \
		.size = 3 * M, .python = "solver.py:5 step < solver.py:9 Solve.backward",          \
		.native = OP(add_Tensor), .node = "SolveBackward", .sequence = (number),           \
		.thread = BUILD_ENGINE_THREAD, .grad = (what)                                      \
	}
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "weights" },
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = AGAIN(VT_GRAD_ENABLED, 1),
		  .owner = "activations/residual",
		  .free_at = 4,
		  .freed_node = "MulBackward0" },
		{ .made = AGAIN(VT_GRAD_DISABLED, 1),
		  .owner = "activation gradients",
		  .free_at = 5,
		  .freed_node = "MulBackward0" },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients" },
		{ .made = MADE(1 * M, mul, .forward = 1) },
	};

	(void)state;
	CHECK(events);
}

/* Fully sharded data parallelism moves weights by its own functions. */
static void shards_and_what_is_put_together_are_weights(void **state)
{
#define FSDP    "/usr/lib/python3/dist-packages/torch/distributed/fsdp/_fully_shard/"
#define FORWARD "main.py:20 Net.forward Net@1 < " MAIN
	static const struct event events[] = {
		{ .made = { .size = 1 * M,
			    .python = FSDP "_fsdp_param.py:9 _init_sharded < " MAIN },
		  .owner = "weights" },
		{ .made = { .size = 2 * M, .forward = 1,
			    .python = FSDP "_fsdp_param.py:5 alloc_storage < " FORWARD },
		  .owner = "weights" },
		{ .made = { .size = 1 * M, .python = FORWARD, .forward = 1 } },
		{ .made = { .size = 1 * M, .node = "MmBackward0", .sequence = 1 } },
		{ .made = { .size = 3 * M, .thread = BUILD_ENGINE_THREAD,
			    .node = "MmBackward0", .sequence = 1,
			    .python = FSDP "_fsdp_collectives.py:59 allocate < " FSDP
					   "_fsdp_collectives.py:8 foreach_all_gather" },
		  .owner = "communication", .free_at = 5 },
		{ .made = { .size = 1 * M, .thread = BUILD_ENGINE_THREAD,
			    .python = FSDP "_fsdp_collectives.py:9 foreach_reduce" },
		  .owner = "gradients" },
		{ .made = { .size = 3 * M, .forward = 1,
			    .python = FSDP "_fsdp_collectives.py:59 allocate < " FSDP
					   "_fsdp_collectives.py:8 foreach_all_gather < " FORWARD },
		  .owner = "communication", .free_at = 7 },
		{ .made = MADE(512, mul, .forward = 1) },
	};

	(void)state;
	CHECK(events);
}

/* Tensor parallelism sums and gathers within modules. */
static void what_a_collective_returns_is_communication(void **state)
{
#define SUMS "/usr/lib/python3/dist-packages/torch/distributed/_functional_collectives.py:"
	static const struct event events[] = {
		{ .made = { .size = 2 * M, .forward = 1, .python = FORWARD },
		  .owner = "activations/other" },
		{ .made = { .size = 1 * M, .forward = 1, .python = SUMS "9 all_reduce < " FORWARD },
		  .owner = "communication" },
		{ .made = { .size = 1 * M, .forward = 1,
			    .python = SUMS "8 all_gather_tensor < " FORWARD },
		  .owner = "communication" },
		{ .made = { .size = 1 * M, .forward = 1,
			    .python = "ranks.py:3 Head.all_gather_scores < " FORWARD },
		  .owner = "communication" },
	};

	(void)state;
	CHECK(events);
}

/* A matrix is multiplied by itself: random numbers are nobody's inputs here. */
static void a_computation_has_no_inputs(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "user", .free_at = 2 },
		{ .made = MADE(4 * M, mm), .owner = "user" },
		{ .made = MADE(1 * M, mul), .owner = "user" },
	};

	(void)state;
	CHECK(events);
}

/* One layer keeps what it computed in each call in a list; another one's result dies. */
static void what_a_module_keeps_of_every_call_is_a_cache(void **state)
{
#define CALL  "main.py:20 Net.forward Net@1 < " MAIN
#define LAYER "main.py:30 Layer.forward Layer@2 < " CALL
#define ONE_CALL(number, end)                                                                      \
	{ .made = { .size = 1 * M, .python = CALL }, .free_at = (end) },                           \
	{ .made = { .size = 2 * M, .python = LAYER, .native = OP(_to_copy) },                      \
	  .owner = "kv cache", .role = VT_ROLE_ATTRIBUTE,                                          \
	  SEEN("layer.kept." #number, "8,8,512,64") },                                             \
	{ .made = { .size = 2 * M, .python = LAYER, .native = OP(mul) }, .free_at = (end) },       \
	{ .made = MADE(512, argmax) }
	static const struct event events[] = {
		ONE_CALL(0, 3),
		ONE_CALL(1, 7),
		ONE_CALL(2, 11),
	};
#define HELD(variable)                                                                             \
	{ .made = { .size = 2 * M, .python = LAYER }, .owner = "buffers",                          \
	  .role = VT_ROLE_ATTRIBUTE, SEEN(variable, "1,8,512,512") },                              \
	{ .made = MADE(512, mul) }
	static const struct event no_cache[] = { HELD("a.target"), HELD("b.target") };

	(void)state;
	CHECK(events);
	CHECK(no_cache);
}

/* An engine gives each attention its blocks; a layer's own table is the layer's. */
static void blank_blocks_that_an_engine_gives_to_modules_are_a_cache(void **state)
{
#define NET "main.py:20 Net.forward Net@1 < " MAIN
#define ENGINE(bytes, variable, dimensions, whose)                                                 \
	{ .made = MADE(bytes, zeros), .owner = (whose), .role = VT_ROLE_ATTRIBUTE,                 \
	  SEEN(variable, dimensions) }
	static const struct event events[] = {
		ENGINE(8 * M, "layers.0.attend.pages", "2,512,16,8,32", "kv cache"),
		ENGINE(8 * M, "layers.1.attend.pages", "2,512,16,8,32", "kv cache"),
		ENGINE(8 * M, "layers.0.attend.seen", "4096,512", "buffers"),
		ENGINE(8 * M, "layers.0.rotary_table", "2,512,2048", "buffers"),
		{ .made = { .size = 8 * M, .python = "net.py:3 Attend.__init__ Attend@2 < " MAIN,
			    .native = OP(zeros) },
		  .owner = "buffers", .role = VT_ROLE_ATTRIBUTE, SEEN("bias", "8,512,512") },
		{ .made = { .size = 1 * M, .python = NET }, .free_at = 6 },
		{ .made = MADE(512, argmax) },
	};
	/* In training a memory of samples is read by the loss. */
	static const struct event trained[] = {
		ENGINE(8 * M, "queue", "8,512,512", "buffers"),
		{ .made = { .size = 1 * M, .python = NET, .forward = 1 }, .free_at = 2 },
		{ .made = NODE(1 * M, "TanhBackward0", 1), .free_at = 3 },
		{ .made = MADE(512, mul, .forward = 1) },
	};

	(void)state;
	CHECK(events);
	CHECK(trained);
}

/* A replay buffer as large as what cuBLAS takes for itself, in a backward pass as well. */
static void what_a_library_keeps_is_no_gradient(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, zeros), .owner = "user/store", SEEN("store", "4096,256") },
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = { .size = 4 * M, .node = "MmBackward0", .sequence = 1,
			    .native = "libtorch_cuda.so!at::cuda::getNewWorkspace()" },
		  .owner = "workspace/cublas" },
		{ .made = MADE(1 * M, mul, .forward = 1) },
	};

	(void)state;
	CHECK(events);
}

/* PyTorch's optimizers have their state themselves; what else is as large is the program's. */
static void beside_an_optimizer_zeros_are_no_state(void **state)
{
	static const struct event events[] = {
		{ .made = MADE(4 * M, randn), .owner = "weights", .role = VT_ROLE_MASTER,
		  SEEN("w", "1024,1024") },
		{ .made = MADE(4 * M, zeros), .owner = "user/gains", SEEN("gains", "16,65536") },
		{ .made = MADE(2 * M, rand), .owner = "inputs", SEEN("x", "512,1024"),
		  .flags = VT_TENSOR_LEAF | VT_TENSOR_REQUIRES_GRAD },
		{ .made = MADE(1 * M, mm, .forward = 1) },
		{ .made = NODE(4 * M, "MmBackward0", 1), .owner = "gradients", .free_at = 6 },
		{ .made = { .size = 4 * M, .python = STEP, .scope = "Optimizer.step#SGD.step" },
		  .owner = "optimizer" },
		{ .made = MADE(1 * M, mm, .forward = 2) },
	};

	(void)state;
	CHECK(events);
}

/* Requests take turns: a probe saw one's cache; of another's only the line is known. */
static void what_the_line_of_a_cache_makes_is_a_cache(void **state)
{
#define CACHED LAYER, .native = OP(cat)
	static const struct event events[] = {
		{ .made = { .size = 2 * M, .python = CACHED }, .owner = "kv cache",
		  SEEN("running.0.past.0", "8,8,512,64") },
		{ .made = MADE(512, argmax) },
		{ .made = { .size = 2 * M, .python = CACHED }, .owner = "kv cache", .free_at = 4 },
		{ .made = MADE(512, argmax) },
		{ .made = { .size = 2 * M, .python = CACHED }, .free_at = 5 },
		{ .made = { .size = 1 * M, .python = LAYER } },
	};

	(void)state;
	CHECK(events);
}

#define CLOSURE "main.py:50 main.<locals>.closure < "
#define LBFGS   "/usr/lib/python3/dist-packages/torch/optim/lbfgs.py:400 LBFGS.step LBFGS@7 < " MAIN
#define IN_STEP(bytes, place, ...)                                                                 \
	{ .size = (bytes), .python = place, .scope = "Optimizer.step#LBFGS.step", __VA_ARGS__ }

/* The step evaluates the model twice: what it keeps between the two is its own, and temporary. */
static void what_dies_within_a_step_is_no_state(void **state)
{
	static const struct build_event made[] = {
		IN_STEP(1 * M, CLOSURE LBFGS, .forward = 1),
		IN_STEP(2 * M, LBFGS, .forward = 1), /* freed behind the second evaluation */
		IN_STEP(4 * M, LBFGS, .forward = 1), /* kept */
		{ .size = 1 * M, .node = "MseLossBackward0", .sequence = 1 },
		IN_STEP(1 * M, CLOSURE "main.py:20 Net.forward Net@1 < " LBFGS, .forward = 2),
	};
	static const char *const owners[] = { "activations/other", "workspace/optimizer",
					      "optimizer" };
	struct builder_db *b = build_open("functions.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t ids[VT_ARRAY_SIZE(made)];

	(void)state;
	build_alloc(b, &(struct build_event){ .size = M, .forward = 1,
					      .python = "main.py:20 Net.forward Net@1 < " MAIN });
	build_mark(b, "Optimizer.step#LBFGS.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	for (size_t i = 0; i < VT_ARRAY_SIZE(made); i++)
		ids[i] = build_alloc(b, &made[i]);
	build_free(b, ids[1], &(struct build_event){ .python = LBFGS });
	build_mark(b, "Optimizer.step#LBFGS.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	build_alloc(b, &(struct build_event){ .size = 512, .python = MAIN, .forward = 2 });
	build_close(b);
	assert_int_equal(vt_analysis_open(&analysis, "functions.db", NULL, &diag), 0);
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++)
		for (size_t k = 0; k < VT_ARRAY_SIZE(owners); k++) {
			struct vt_verdict verdict;

			if (analysis.model.allocations[i].event != ids[k])
				continue;
			verdict = vt_attribution_judge(&analysis.attribution, i);
			assert_string_equal(vt_attribution_owner(&analysis.attribution,
								 verdict.owner),
					    owners[k]);
		}
	vt_analysis_close(&analysis);
	assert_int_equal(unlink("functions.db"), 0);
}

/* Zeros that happen to have a parameter's shape: beside PyTorch's optimizer they are no state. */
static void buffers_beside_an_optimizer_are_no_state(void **state)
{
	static const struct event events[] = {
		{ .made = { .size = 4096, .python = MAIN },
		  SEEN("bias", "1024"),
		  .role = VT_ROLE_PARAMETER },
		{ .made = MADE(8192, zeros), .owner = "user/actions", SEEN("actions", "1024") },
		{ .made = MADE(4096, zeros), .owner = "user/values", SEEN("values", "1024") },
		{ .made = { .size = 4096, .python = NET, .forward = 1 } },
		{ .made = NODE(4096, "MmBackward0", 1) },
		{ .made = { .size = 4096,
			    .python = MAIN,
			    .scope = "Optimizer.step#SGD.step",
			    .forward = 1 } },
		{ .made = { .size = 512, .python = NET, .forward = 2 } },
	};

	(void)state;
	CHECK(events);
}

/* Row 2 again and again, each larger than all before. */
static const char many_sizes[] =
	"CREATE TEMP TABLE copy AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
	" WHERE i < 300000) SELECT a.*, i FROM n, allocation a WHERE a.id = 2;"
	"UPDATE copy SET id = id + i, size_bytes = size_bytes + 7 * i,"
	" address = address + (i << 26);"
	"ALTER TABLE copy DROP COLUMN i; INSERT INTO allocation SELECT * FROM copy";

/*
 * A damaged file may say anything of sizes.  Where each was compared with all before it this took
 * minutes: the kernel ends a test that works for that long.
 */
static void sizes_that_are_all_different_take_no_time(void **state)
{
	enum { NR = 300000, MOST_S = 30 };
	struct builder_db *b = build_open("sizes.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	struct rlimit limit;
	struct vt_db *db;

	(void)state;
	build_device(b, 0, 1 << 30, 0);
	build_alloc(b, &(struct build_event){ .size = 4 * M, .python = MAIN });
	build_alloc(b, &(struct build_event){ .size = 2 * M, .node = "AddmmBackward0" });
	build_close(b);
	assert_int_equal(vt_db_open(&db, "sizes.db", VT_DB_WRITE, &diag), 0);
	assert_int_equal(vt_db_exec(db, vt_embedded_writable_allocations), 0);
	assert_int_equal(vt_db_exec(db, many_sizes), 0);
	vt_db_close(db);
	assert_int_equal(getrlimit(RLIMIT_CPU, &limit), 0);
	limit.rlim_cur = (rlim_t)(clock() / CLOCKS_PER_SEC) + MOST_S;
	assert_int_equal(setrlimit(RLIMIT_CPU, &limit), 0);
	assert_int_equal(vt_analysis_open(&analysis, "sizes.db", NULL, &diag), 0);
	assert_int_equal(analysis.model.nr_allocations, NR + 2);
	vt_analysis_close(&analysis);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_CPU, &limit), 0);
	unlink("sizes.db");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gradients_tell_weights_and_state_without_a_probe),
		TEST(what_requires_a_gradient_is_the_weight),
		TEST(what_takes_their_place_is_the_same),
		TEST(what_an_unused_graph_kept_is_no_gradient),
		TEST(inference_of_functions_has_its_owners),
		TEST(data_in_a_list_is_no_weight),
		TEST(zeros_that_the_first_step_makes_are_state),
		TEST(masters_in_twice_the_width_belong_to_the_optimizer),
		TEST(averages_in_twice_the_width_are_the_programs_own),
		TEST(a_gradient_made_in_forward_is_a_gradient),
		TEST(a_rounded_weight_is_no_gradient),
		TEST(what_an_own_backward_records_is_an_activation),
		TEST(shards_and_what_is_put_together_are_weights),
		TEST(what_a_collective_returns_is_communication),
		TEST(a_computation_has_no_inputs),
		TEST(what_a_module_keeps_of_every_call_is_a_cache),
		TEST(blank_blocks_that_an_engine_gives_to_modules_are_a_cache),
		TEST(what_a_library_keeps_is_no_gradient),
		TEST(beside_an_optimizer_zeros_are_no_state),
		TEST(what_the_line_of_a_cache_makes_is_a_cache),
		TEST(what_dies_within_a_step_is_no_state),
		TEST(buffers_beside_an_optimizer_are_no_state),
		TEST(sizes_that_are_all_different_take_no_time),
	};

	return cmocka_run_group_tests_name("attribution of functions", tests, NULL, NULL);
}
