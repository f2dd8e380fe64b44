/* SPDX-License-Identifier: MIT */
/*
 * Whose byte is it in programs without modules: weights, state and caches in variables of their
 * own, as a probe saw them and as nobody did.
 */
#include "tests/lib/unit.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/report/analysis.h"
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
	const char *freed_native;
};

static void see(struct builder_db *b, const struct event *event, int64_t id)
{
	if (event->name)
		build_tensor(b, &(struct build_tensor){ .allocation = id,
							.role = VT_ROLE_VARIABLE,
							.flags = event->flags,
							.name = event->name,
							.holder = "main.py:main",
							.shape = event->shape });
}

static void check_events(const struct event *events, size_t nr)
{
	struct builder_db *b = build_open("functions.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t ids[32];

	assert_true(nr <= VT_ARRAY_SIZE(ids));
	build_device(b, 0, 1 << 30, 0);
	for (size_t i = 0; i < nr; i++) {
		for (size_t k = 0; k < i; k++) {
			if (events[k].free_at != (int)i)
				continue;
			see(b, &events[k], ids[k]);
			build_free(b, ids[k],
				   &(struct build_event){ .python = MAIN,
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
		{ .made = MADE(1 * M, native_layer_norm), .owner = "activations/norm",
		  .free_at = 9 },
		{ .made = MADE(2 * M, mm), .owner = "activations/other", .free_at = 9 },
		{ .made = MADE(4 * M, mm), .owner = "logits", .free_at = 11 },
		{ .made = MADE(4 * M, _softmax), .owner = "logits", .free_at = 11 },
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
	};

	return cmocka_run_group_tests_name("attribution of functions", tests, NULL, NULL);
}
