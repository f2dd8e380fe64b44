/* SPDX-License-Identifier: MIT */
/* Which functions of a program take an optimizer's step, by what they read and write. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/attribution/timeline/own_steps.h"
#include "analyzer/base/util.h"

#define NR_MAX 16

enum { WEIGHT, GRADIENT, STATE, BATCH, NR_BLOCKS };
/* Functions; each is called by one stack, its number + 1. */
enum { TRAIN, STEP, OTHER, TORCH, NR_FUNCTIONS };

/* An operator: who calls it, what it is given, first what it writes where it writes in place. */
struct step {
	const char *name;
	uint32_t function, first, second;
};

static const uint8_t known_stages[NR_FUNCTIONS + 1] = { VT_NR_STAGES, VT_NR_STAGES, VT_NR_STAGES,
							VT_NR_STAGES, VT_STAGE_OPTIMIZER };

/* Bit per function: whether it takes a step. */
static unsigned find(const struct step *steps, uint32_t nr)
{
	static const struct vt_caller forward, backward = { .node_class = 1 };
	static const uint8_t computes[NR_FUNCTIONS] = { [TRAIN] = 1 };
	struct vt_allocation_common commons[NR_BLOCKS];
	struct vt_allocation allocations[NR_BLOCKS];
	struct vt_operator_call calls[NR_MAX];
	struct vt_call_tensor tensors[2 * NR_MAX];
	struct vt_code codes[NR_FUNCTIONS];
	struct vt_frame_python frames[NR_FUNCTIONS];
	struct vt_frame_node nodes[NR_FUNCTIONS + 1];
	uint32_t leaves[NR_FUNCTIONS + 1];
	char *texts[NR_MAX + 1] = { NULL };
	struct vt_model model = { .allocations = allocations,
				  .nr_allocations = NR_BLOCKS,
				  .calls = { .items = calls, .tensors = tensors, .nr = nr },
				  .strings = { .text = texts, .nr = NR_MAX + 1 } };
	unsigned found = 0;
	uint8_t *does;

	memset(allocations, 0, sizeof(allocations));
	memset(calls, 0, sizeof(calls));
	memset(tensors, 0, sizeof(tensors));
	memset(nodes, 0, sizeof(nodes));
	memset(leaves, 0, sizeof(leaves));
	memset(frames, 0, sizeof(frames));
	for (uint32_t i = 0; i < NR_BLOCKS; i++) {
		commons[i] = (struct vt_allocation_common){ .made = i == GRADIENT ? &backward
										  : &forward };
		allocations[i].common = &commons[i];
	}
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++) {
		codes[i] = (struct vt_code){ .file = (char *)"train.py", .name = (char *)"f" };
		frames[i].code = i;
		nodes[i + 1].frame = i;
		leaves[i + 1] = i + 1;
	}
	model.frames.codes = codes;
	model.frames.nr_codes = NR_FUNCTIONS;
	model.frames.python = frames;
	model.frames.nr_python = NR_FUNCTIONS;
	model.frames.python_tree = (struct vt_frame_tree){ .nodes = nodes,
							   .nr_nodes = NR_FUNCTIONS + 1,
							   .leaves = leaves,
							   .nr_stacks = NR_FUNCTIONS + 1 };
	for (uint32_t i = 0; i < nr; i++) {
		texts[i + 1] = (char *)steps[i].name;
		calls[i] = (struct vt_operator_call){ .name = i + 1,
						      .event = i,
						      .python_stack = steps[i].function + 1,
						      .first_tensor = 2 * i,
						      .nr_tensors = 2 };
		tensors[2 * i].allocation = steps[i].first;
		tensors[2 * i + 1] =
			(struct vt_call_tensor){ .allocation = steps[i].second, .position = 1 };
	}
	does = vt_own_steps_find(&model, computes, known_stages);
	for (uint32_t i = 0; does && i < NR_FUNCTIONS; i++)
		found |= does[i] ? 1u << i : 0;
	free(does);
	return found;
}

#define FIND(steps) find(steps, VT_ARRAY_SIZE(steps))
#define MULTIPLY                                                                                   \
	{                                                                                          \
		"aten::linear", TRAIN, BATCH, WEIGHT                                               \
	}

static void test_a_step_reads_gradients_and_writes_weights(void **state)
{
	const struct step adam[] = {
		MULTIPLY,
		{ "aten::lerp_", STEP, STATE, GRADIENT },
		{ "aten::addcdiv_", STEP, WEIGHT, STATE },
	};
	const struct step clips[] = {
		MULTIPLY,
		{ "aten::mul_", OTHER, GRADIENT, STATE },
		{ "aten::add_", STEP, WEIGHT, GRADIENT },
	};

	(void)state;
	assert_int_equal(FIND(adam), 1u << STEP);
	assert_int_equal(FIND(clips), 1u << STEP);
}

static void test_others_take_no_step(void **state)
{
	/* The loop itself, which calls the model too. */
	const struct step inlined[] = { MULTIPLY, { "aten::add_", TRAIN, WEIGHT, GRADIENT } };
	/* An average of gradients; weights that are limited without them. */
	const struct step average[] = {
		MULTIPLY,
		{ "aten::add_", STEP, STATE, GRADIENT },
		{ "aten::clamp_", OTHER, WEIGHT, STATE },
	};
	/* PyTorch's optimizer steps these weights: who moves them besides does not. */
	const struct step beside[] = {
		MULTIPLY,
		{ "aten::add_", STEP, WEIGHT, GRADIENT },
		{ "aten::add_", TORCH, WEIGHT, STATE },
	};

	(void)state;
	assert_int_equal(FIND(inlined), 0);
	assert_int_equal(FIND(average), 0);
	assert_int_equal(FIND(beside), 0);
}

/* It moves weights aside, and the second function moves them back and steps. */
static void test_of_two_that_take_turns_the_second_steps(void **state)
{
	const struct step turns[] = {
		MULTIPLY,
		{ "aten::add_", OTHER, WEIGHT, GRADIENT },
		{ "aten::sub_", STEP, WEIGHT, GRADIENT },
		{ "aten::add_", OTHER, WEIGHT, GRADIENT },
		{ "aten::sub_", STEP, WEIGHT, GRADIENT },
	};
	const struct step one_after_the_other[] = {
		MULTIPLY,
		{ "aten::add_", OTHER, WEIGHT, GRADIENT },
		{ "aten::sub_", STEP, WEIGHT, GRADIENT },
	};

	(void)state;
	assert_int_equal(FIND(turns), 1u << STEP);
	assert_int_equal(FIND(one_after_the_other), 1u << STEP | 1u << OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_step_reads_gradients_and_writes_weights),
		cmocka_unit_test(test_others_take_no_step),
		cmocka_unit_test(test_of_two_that_take_turns_the_second_steps),
	};

	return cmocka_run_group_tests_name("own_steps", tests, NULL, NULL);
}
