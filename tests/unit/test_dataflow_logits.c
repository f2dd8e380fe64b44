/* SPDX-License-Identifier: MIT */
/* What operators show to be scores, and what they show to be none. */
#include "tests/lib/flow_steps.h"
#include "tests/lib/unit.h"

static void test_logits_reach_a_loss_and_their_gradients_are_of_its_nodes(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::layer_norm", { S(0), 3 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(1), 4 }, "logits", 0, 0, 0 },
		{ "aten::_to_copy", { S(2) }, "logits", 0, 0, 0 },
		{ "aten::cross_entropy_loss", { S(3), 5 }, "logits", 0, 0, 0 },
		{ "aten::_log_softmax_backward_data", { 6 }, "logits", 0, 4 + 1, 0 },
		{ "aten::_to_copy", { S(5) }, "logits", 0, 3 + 1, 0 },
		/* the product's own node makes gradients of what it multiplied */
		{ "aten::mm", { S(6), 4 }, "", 0, 2 + 1, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* Two encoders are compared with each other; what was scored before is joined to it. */
static void test_scores_of_data_by_data_that_a_loss_reads(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { 3, 4 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), S(1) }, "logits", 0, 0, 0 },
		{ "aten::bmm", { S(0), S(1) }, "logits", 4096, 0, 0 },
		{ "aten::cat", { S(3), S(2) }, "logits", 0, 0, 0 },
		{ "aten::div", { S(4) }, "logits", 0, 0, 0 },
		{ "aten::cross_entropy_loss", { S(5), 5 }, "logits", 0, 0, 0 },
		{ "aten::div", { 6 }, "logits", 0, 5 + 1, 0 },
	};
	/* ... and by a loss that is spelled out */
	const struct step spelled[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { 3, 4 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), S(1) }, "logits", 0, 0, 0 },
		{ "aten::logsumexp", { S(2) }, "logits", 4096, 0, 0 },
	};
	/* those of attention are still attention, whatever a loss asks of them */
	const struct step attention[] = {
		{ "aten::linear", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::linear", { 1, 3 }, "attention", 0, 0, 0 },
		{ "aten::linear", { 1, 4 }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(0), S(1) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(3) }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(4), S(2) }, "attention", 0, 0, 0 },
		{ "aten::log_softmax", { S(3) }, "", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(spelled);
	CHECK(attention);
}

static void test_a_ranking_is_of_logits_where_a_network_made_the_scores(void **state)
{
	const struct step network[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::layer_norm", { S(0), 3 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(1), 4 }, "logits", 0, 0, 0 },
		{ "aten::topk", { S(2) }, "logits", 4096, 0, 1 },
	};
	/* rows of a table by another table */
	const struct step tables[] = {
		{ "aten::mm", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::topk", { S(0) }, "", 4096, 0, 1 },
		{ "aten::embedding", { 3, 4 }, "embedding", 0, 0, 0 },
		{ "aten::mm", { S(3), 2 }, "mlp", 0, 0, 0 },
		{ "aten::sort", { S(4) }, "", 0, 0, 1 },
	};
	/* ... of which one is chosen */
	const struct step chosen[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::mm", { S(0), 2 }, "logits", 0, 0, 0 },
		{ "aten::argmax", { S(1) }, "logits", 4096, 0, 0 },
	};

	(void)state;
	CHECK(network);
	CHECK(tables);
	CHECK(chosen);
}

/* The gradient of a slice has the size of the whole, and a slice is no node of the graph. */
static void test_gradients_of_slices_of_logits(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::slice", { S(0) }, "", 0, 0, 0 },
		{ "aten::cross_entropy_loss", { S(0), 5 }, "logits", 0, 0, 0 },
		{ "aten::slice_backward", { 6 }, "logits", 0, 1 + 1, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* Of speech a loss over all ways reads the scores, and makes their gradient as the others do. */
static void test_gradients_of_a_loss_over_ways(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::log_softmax", { S(0) }, "logits", 0, 0, 0 },
		{ "aten::_ctc_loss", { S(1), 5 }, "logits", 0, 0, 0 },
		{ "aten::_ctc_loss_backward", { S(2), S(1) }, "logits", 0, 2 + 1, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* A product of more than two dimensions ends with a view, whose node copies what is transposed. */
static void test_gradients_of_the_view_that_a_head_ends_with(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::slice", { S(0) }, "", 0, 0, CALLED_BY(0) },
		{ "aten::cross_entropy_loss", { S(0), 5 }, "logits", 0, 0, 0 },
		{ "aten::clone", { 6 }, "logits", 0, 1 + 1, 0 },
		{ "aten::mm", { S(2), 4 }, "", 0, 0 + 1, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* A decoder that fills one tensor with the scores of each step, or with what was picked of them. */
static void test_what_is_filled_with_scores(void **state)
{
	const struct step scores[] = {
		{ "aten::zeros", { 0 }, "logits", 0, 0, 0 },
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::copy_", { S(0), S(1) }, "", 0, 0, 0 },
		{ "aten::linear", { 3, 2 }, "logits", 0, 0, 0 },
		{ "aten::copy_", { S(0), S(2) }, "", 0, 0, 0 },
		{ "aten::log_softmax", { S(0) }, "logits", 0, 0, 0 },
	};
	const struct step picked[] = {
		{ "aten::zeros", { 0 }, "", 4096, 0, 0 },
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::log_softmax", { S(1) }, "logits", 0, 0, 0 },
		{ "aten::gather", { S(2), 3 }, "logits", 4096, 0, 0 },
		{ "aten::copy_", { S(0), S(3) }, "", 0, 0, 0 },
		{ "aten::exp", { S(0) }, "logits", 4096, 0, 0 },
	};
	const struct step cast[] = {
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::empty_like", { S(0) }, "logits", 0, 0, 0 },
		{ "aten::copy_", { S(1), S(0) }, "", 0, 0, 0 },
		{ "aten::argmax", { S(0) }, "logits", 4096, 0, 0 },
	};

	(void)state;
	CHECK(scores);
	CHECK(picked);
	CHECK(cast);
}

static void test_sums_over_all_ways_are_of_no_logits(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(0), 3 }, "mlp", 0, 0, 0 },
		{ "aten::logsumexp", { S(1) }, "", 0, 0, 0 },
		{ "aten::add", { S(2), S(0) }, "", 0, 0, 0 },
		{ "aten::logsumexp", { S(3) }, "", 0, 0, 0 },
	};
	/* ... as one sum is */
	const struct step once[] = {
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::logsumexp", { S(0) }, "logits", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(once);
}

static void test_mixtures_are_of_no_logits(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { 1, 3 }, "mlp", 0, 0, 0 },
		{ "aten::log_softmax", { S(0) }, "", 0, 0, 0 },
		{ "aten::add", { S(1), S(2) }, "mlp", 0, 0, 0 },
		{ "aten::logsumexp", { S(3) }, "", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* Sparse retrieval: the largest score of each token, and a product with those of another text. */
static void test_scores_of_a_tied_head_without_a_loss(void **state)
{
	const struct step steps[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "mlp", 0, 0, 0 },
		{ "aten::gelu", { S(1) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(2), 1 }, "logits", 4 * WIDE, 0, 0 },
		{ "aten::relu", { S(3) }, "logits", 4 * WIDE, 0, 0 },
		{ "aten::log1p", { S(4) }, "logits", 4 * WIDE, 0, 0 },
		{ "aten::amax", { S(5) }, "logits", 0, 0, 0 },
		{ "aten::mm", { S(6), S(6) }, "", 4096, 0, 0 },
		{ "aten::mul", { S(5), S(5) }, "logits", 4 * WIDE, 5 + 1, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* A network for pictures has its scores for fewer points than the picture has. */
static void test_scores_that_are_resized_to_the_picture(void **state)
{
	const struct step steps[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::upsample_bilinear2d", { S(0) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(1), 3 }, "logits", 0, 0, 0 },
		{ "aten::upsample_bilinear2d", { S(2) }, "logits", 0, 0, 0 },
		{ "aten::cross_entropy_loss", { S(3), 5 }, "logits", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logits_reach_a_loss_and_their_gradients_are_of_its_nodes),
		cmocka_unit_test(test_scores_of_data_by_data_that_a_loss_reads),
		cmocka_unit_test(test_a_ranking_is_of_logits_where_a_network_made_the_scores),
		cmocka_unit_test(test_gradients_of_slices_of_logits),
		cmocka_unit_test(test_gradients_of_a_loss_over_ways),
		cmocka_unit_test(test_gradients_of_the_view_that_a_head_ends_with),
		cmocka_unit_test(test_what_is_filled_with_scores),
		cmocka_unit_test(test_sums_over_all_ways_are_of_no_logits),
		cmocka_unit_test(test_mixtures_are_of_no_logits),
		cmocka_unit_test(test_scores_of_a_tied_head_without_a_loss),
		cmocka_unit_test(test_scores_that_are_resized_to_the_picture),
	};

	return cmocka_run_group_tests_name("dataflow_logits", tests, NULL, NULL);
}
