/* SPDX-License-Identifier: MIT */
/* Which storages a network multiplies by, where no module has them. */
#include "tests/lib/flow_steps.h"
#include "tests/lib/unit.h"

/* Codes, a code book and scales are buffers; what multiplies data is the weight. */
static void test_weights_are_dequantised_by_hand(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::bitwise_and", { 5 }, "weight", 0, NO_NODE, 0 },
		{ "aten::index", { 6, S(1) }, "weight", 0, NO_NODE, 0 },
		{ "aten::mul", { S(2), 7 }, "weight", 0, NO_NODE, 0 },
		{ "aten::linear", { S(0), S(3) }, "mlp", 0, 0, 0 },
		/* What is only copied, or added, is no weight: by what reads it. */
		{ "aten::clone", { 5 }, "mlp", 0, NO_NODE, 0 },
		{ "aten::linear", { S(4), S(5) }, "mlp", 0, 0, 0 },
		{ "aten::mul", { 6, 7 }, "mlp", 0, NO_NODE, 0 },
		{ "aten::add", { S(6), S(7) }, "mlp", 0, 0, 0 },
		/* ... and what is trained through is a part of the network. */
		{ "aten::mul", { 6, 7 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(8), S(9) }, "mlp", 0, 0, 0 },
	};

	(void)state;
	flow_steps_check(steps, VT_ARRAY_SIZE(steps), 5);
}

/* Weights that the host keeps are multiplied by; so are rows of an index that is searched. */
static void test_weights_are_brought_from_the_host(void **state)
{
	const struct step layers[] = {
		{ "aten::_to_copy", { 0 }, "streamed weight", 0, 0, 0 },
		{ "aten::linear", { 1, S(0) }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(1) }, "mlp", 0, 0, 0 },
		{ "aten::_to_copy", { 0 }, "streamed weight", 0, 0, 0 },
		{ "aten::mm", { S(2), S(3) }, "logits", 0, 0, 0 },
		{ "aten::argmax", { S(4) }, "logits", 4096, 0, 0 },
	};
	/* what is searched comes in parts, and data is not multiplied by */
	const struct step parts[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::_to_copy", { 0 }, "", 0, 0, 0 },
		{ "aten::mm", { S(0), S(1) }, "logits", 0, 0, 0 },
		{ "aten::_to_copy", { 0 }, "", 0, 0, 0 },
		{ "aten::mm", { S(0), S(3) }, "logits", 0, 0, 0 },
		{ "aten::cat", { S(2), S(4) }, "logits", 0, 0, 0 },
		{ "aten::argmax", { S(5) }, "logits", 4096, 0, 0 },
	};
	const struct step data[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::_to_copy", { 0 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(1), S(0) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(2), 3 }, "mlp", 0, 0, 0 },
	};
	const struct step added[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::_to_copy", { 0 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), S(1) }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(2), S(1) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(3), 3 }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(layers);
	CHECK(parts);
	CHECK(data);
	CHECK(added);
}

/* A compiled graph casts its arguments, which nothing shows: no kernel of it reads the host. */
static void test_compiled_graphs_cast_their_weights(void **state)
{
	const struct step steps[] = {
		{ "inductor::_to_copy", { 0 }, "weight", 0, 0, 0 },
		{ "aten::mm", { 1, S(0) }, "mlp", 0, 0, 0 },
		{ "inductor::relu", { S(1) }, "mlp", 0, 0, 0 },
		{ "inductor::_to_copy", { 0 }, "weight", 0, 0, 0 },
		{ "aten::mm", { S(2), S(3) }, "mlp", 0, 0, 0 },
		{ "inductor::relu", { S(4) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(5), 4 }, "mlp", 0, 0, 0 },
	};
	/* Queries and keys are of the same data; of one size with a parameter they are weights. */
	const struct step same[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "inductor::_to_copy", { 0 }, "weight", CAST_BYTES, 0, 0 },
		{ "aten::mm", { S(0), S(1) }, "mlp", 0, 0, 0 },
		{ "inductor::_to_copy", { 0 }, "weight", CAST_BYTES, 0, 0 },
		{ "aten::mm", { S(0), S(3) }, "mlp", 0, 0, 0 },
		{ "inductor::_to_copy", { 0 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), S(5) }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(same);
}

/* Layers' results are multiplied by weights; data by the first, and by gradients. */
static void test_factors_of_what_layers_made(void **state)
{
	const struct step steps[] = {
		{ "aten::mm", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(0) }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(1), 3 }, "mlp", 0, 0, 0 },
		{ "aten::sub", { S(2), 4 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { 1, S(3) }, "", 0, 1, 0 },
	};

	(void)state;
	assert_int_equal(flow_steps_factors(steps, VT_ARRAY_SIZE(steps)), 1u << 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights_are_dequantised_by_hand),
		cmocka_unit_test(test_weights_are_brought_from_the_host),
		cmocka_unit_test(test_compiled_graphs_cast_their_weights),
		cmocka_unit_test(test_factors_of_what_layers_made),
	};

	return cmocka_run_group_tests_name("weights in the graph", tests, NULL, NULL);
}
