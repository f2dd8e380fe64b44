/* SPDX-License-Identifier: MIT */
/* What part of a network an operator is, by what it reads and what reads it. */
#include "tests/lib/flow_steps.h"
#include "tests/lib/unit.h"

static void test_attention_is_a_softmax_between_products_of_data(void **state)
{
	const struct step steps[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::layer_norm", { S(0), 3 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(1), 4 }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(1), 5 }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(2), S(3) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(4) }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(5), S(3) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(6), 6 }, "attention", 0, 0, 0 },
		{ "aten::add", { S(0), S(7) }, "residual", 0, 0, 0 },
		{ "aten::linear", { S(8), 3 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(9) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(10), 4 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(8), S(11) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* Both operands of a residual sum come by it: it is before the branch, and no part of that. */
static void test_a_dropout_before_a_branch_is_of_what_it_drops(void **state)
{
	const struct step steps[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::native_dropout", { S(0) }, "embedding", 0, 0, 0 },
		{ "aten::layer_norm", { S(1), 3 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(2), 4 }, "attention", 0, 0, 0 },
		{ "aten::scaled_dot_product_attention", { S(3) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(4), 6 }, "attention", 0, 0, 0 },
		{ "aten::native_dropout", { S(5) }, "attention", 0, 0, 0 },
		{ "aten::add", { S(1), S(6) }, "residual", 0, 0, 0 },
		{ "aten::linear", { S(7), 3 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(8) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(9), 4 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(7), S(10) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* As compiled code calls them. */
static void test_products_write_what_they_are_given_for_results(void **state)
{
	const struct step steps[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::mm", { S(0), 3 }, "mlp", 0, 0, GIVEN },
		{ "aten::relu", { S(1) }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(2), 4 }, "logits", 0, 0, GIVEN },
		{ "aten::log_softmax", { S(3) }, "logits", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* What data is joined to stays what it is, as in a network that reads its input again. */
static void test_data_is_joined_to_what_layers_made(void **state)
{
	const struct step features[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(0) }, "mlp", 0, 0, 0 },
		{ "aten::cat", { 1, S(1) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(2), 3 }, "mlp", 0, 0, 0 },
	};
	const struct step tokens[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "logits", 0, 0, 0 },
		{ "aten::argmax", { S(1) }, "logits", 4096, 0, 0 },
		{ "aten::cat", { 2, S(2) }, "", 0, 0, 0 },
	};

	/* A mask has no kind: less than half of a join it says nothing, half of it does. */
	const struct step parts[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::argsort", { S(0) }, "", WIDE / 4, 0, 0 },
		{ "aten::cat", { S(1), S(0) }, "mlp", WIDE, 0, 0 },
		{ "aten::argsort", { S(0) }, "", WIDE / 2, 0, 0 },
		{ "aten::cat", { S(3), S(0) }, "", WIDE, 0, 0 },
	};

	(void)state;
	CHECK(features);
	CHECK(tokens);
	CHECK(parts);
}

/*
 * An operator written in Python, called through a dispatch mode, which has no results: what it
 * calls computes, not the operator of an unknown name.
 */
static void test_an_operator_is_what_it_calls_through_others(void **state)
{
	const struct step steps[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "own::product", { S(0), 3 }, "logits", 0, 0, 0 },
		{ "Mode", { S(0), 3 }, "", 0, 0, NOTHING_FOR(1) },
		{ "aten::mm", { S(0), 3 }, "", 0, 0, MADE_FOR(1) },
		{ "aten::argmax", { S(1) }, "logits", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* A gate's softmax stands between no products of data; what is chosen goes on into layers. */
static void test_experts_by_hand_are_no_attention_and_no_logits(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), 3 }, "mlp", 4096, 0, 0 },
		{ "aten::softmax", { S(1) }, "mlp", 4096, 0, 0 },
		{ "aten::topk", { S(2) }, "mlp", 4096, 0, 1 },
		{ "aten::bmm", { S(0), 4 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(5) }, "mlp", 0, 0, 0 },
		{ "aten::bmm", { S(6), 5 }, "mlp", 0, 0, 0 },
		{ "aten::mul", { S(7), S(3) }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(0), S(8) }, "residual", 0, 0, 0 },
		{ "aten::linear", { S(9), 6 }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

static void test_norms_by_hand(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::_to_copy", { S(0) }, "norm", 0, 0, 0 },
		{ "aten::pow", { S(1) }, "norm", 0, 0, 0 },
		{ "aten::mean", { S(2) }, "norm", 4096, 0, 0 },
		{ "aten::add", { S(3) }, "norm", 4096, 0, 0 },
		{ "aten::rsqrt", { S(4) }, "norm", 4096, 0, 0 },
		{ "aten::mul", { S(1), S(5) }, "norm", 0, 0, 0 },
		{ "aten::mul", { S(6), 3 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(7), 4 }, "mlp", 0, 0, 0 },
		/* ... and by mean and variance, with the network's own mean beside it */
		{ "aten::var_mean", { S(8) }, "norm", 4096, 0, 0 },
		{ "aten::sub", { S(8), S(9) }, "norm", 0, 0, 0 },
		{ "aten::rsqrt", { S(9) }, "norm", 4096, 0, 0 },
		{ "aten::mul", { S(10), S(11) }, "norm", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* An optimizer that computes with products: what it writes into weights makes them no data. */
static void test_weights_stay_weights_when_they_are_written(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { 3, 3 }, "mlp", 0, 0, 0 },
		{ "aten::add_", { 2, S(1) }, "", 0, 0, 0 },
		{ "aten::linear", { S(0), 2 }, "logits", 0, 0, 0 },
		{ "aten::log_softmax", { S(2) }, "logits", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* It is of no data that was multiplied: the weights stay leaves. */
static void test_convolutions_beside_sums(void **state)
{
	const struct step steps[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::batch_norm", { S(0), 3 }, "norm", 0, 0, 0 },
		{ "aten::relu", { S(1) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(2), 4 }, "conv", 0, 0, 0 },
		{ "aten::add", { S(0), S(3) }, "residual", 0, 0, 0 },
		/* by element alone there is no branch */
		{ "aten::mul", { S(4), S(4) }, "residual", 0, 0, 0 },
		{ "aten::add", { S(4), S(5) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* A block that convolves each channel and then mixes them at each position. */
static void test_feed_forwards_beside_convolutions(void **state)
{
	const struct step steps[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(0), 3 }, "conv", 0, 0, 0 },
		{ "aten::layer_norm", { S(1), 4 }, "norm", 0, 0, 0 },
		{ "aten::_to_copy", { S(2) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(3), 5 }, "mlp", 4 * WIDE, 0, 0 },
		{ "aten::gelu", { S(4) }, "mlp", 4 * WIDE, 0, 0 },
		{ "aten::linear", { S(5), 6 }, "mlp", 0, 0, 0 },
		{ "aten::mul", { S(6), 7 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(0), S(7) }, "residual", 0, 0, 0 },
		{ "aten::conv2d", { S(8), 2 }, "conv", 0, 0, 0 },
	};
	/* ... a gate for each channel is none, */
	const struct step squeezed[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(0), 3 }, "conv", 0, 0, 0 },
		{ "aten::adaptive_avg_pool2d", { S(1) }, "conv", 4096, 0, 0 },
		{ "aten::linear", { S(2), 4 }, "conv", 4096, 0, 0 },
		{ "aten::relu", { S(3) }, "conv", 4096, 0, 0 },
		{ "aten::linear", { S(4), 5 }, "conv", 4096, 0, 0 },
		{ "aten::sigmoid", { S(5) }, "conv", 4096, 0, 0 },
		{ "aten::mul", { S(1), S(6) }, "conv", 0, 0, 0 },
		{ "aten::add", { S(0), S(7) }, "residual", 0, 0, 0 },
	};
	/* ... nor is one layer that a branch adds, nor two with a convolution between them */
	const struct step between[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(1), 4 }, "conv", 0, 0, 0 },
		{ "aten::gelu", { S(2) }, "conv", 0, 0, 0 },
		{ "aten::linear", { S(3), 5 }, "conv", 0, 0, 0 },
		{ "aten::add", { S(0), S(4) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(squeezed);
	CHECK(between);
}

/* e = exp(scores); e / sum(e), between products of data and beside one by element. */
static void test_softmax_spelled_out(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::linear", { 1, 3 }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(0), S(1) }, "attention", 0, 0, 0 },
		{ "aten::exp", { S(2) }, "attention", 0, 0, 0 },
		{ "aten::sum", { S(3) }, "attention", 4096, 0, 0 },
		{ "aten::div", { S(3), S(4) }, "attention", 0, 0, 0 },
		{ "aten::mul", { S(5), S(1) }, "attention", 0, 0, 0 },
		{ "aten::sum", { S(6) }, "attention", 4096, 0, 0 },
		{ "aten::linear", { S(7), 4 }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(8), 5 }, "mlp", 0, 0, 0 },
	};
	/* ... and in a loss */
	const struct step loss[] = {
		{ "aten::linear", { 1, 2 }, "logits", 0, 0, 0 },
		{ "aten::exp", { S(0) }, "logits", 0, 0, 0 },
		{ "aten::sum", { S(1) }, "logits", 4096, 0, 0 },
		{ "aten::log", { S(2) }, "logits", 4096, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(loss);
}

/* Not of what experts made, which is no part of the scores. */
static void test_pooling_by_scores_of_what_is_pooled(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "attention", 4096, 0, 0 },
		{ "aten::softmax", { S(1) }, "attention", 4096, 0, 0 },
		{ "aten::mul", { S(2), S(0) }, "attention", 0, 0, 0 },
		{ "aten::sum", { S(3) }, "attention", 4096, 0, 0 },
		{ "aten::linear", { S(4), 4 }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(5), 5 }, "mlp", 0, 0, 0 },
	};
	const struct step experts[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "mlp", 4096, 0, 0 },
		{ "aten::softmax", { S(1) }, "", 4096, 0, 0 },
		{ "aten::linear", { S(0), 4 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(3) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(4), 5 }, "mlp", 0, 0, 0 },
		{ "aten::mul", { S(5), S(2) }, "mlp", 0, 0, 0 },
		{ "aten::sum", { S(6) }, "", 4096, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(experts);
}

static void test_attention_without_softmax(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::linear", { 1, 3 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(0), S(1) }, "attention", 0, 0, 0 },
		{ "aten::mul", { S(2) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(3), S(0) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(4), 4 }, "attention", 0, 0, 0 },
	};
	/* weights that a network makes for the next one are none */
	const struct step weights[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { 3, 4 }, "mlp", 0, 0, 0 },
		{ "aten::bmm", { S(1), S(0) }, "", 0, 0, 0 },
		{ "aten::relu", { S(2) }, "", 0, 0, 0 },
		{ "aten::bmm", { S(3), S(0) }, "", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
	CHECK(weights);
}

/* Its products: a norm and a gate behind it, scores that are sums, what a cell makes of it. */
static void test_what_belongs_to_an_attention(void **state)
{
	const struct step gate[] = {
		{ "aten::layer_norm", { 1, 2 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(1), S(0) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(2), S(1) }, "attention", 0, 0, 0 },
		{ "aten::group_norm", { S(3), 4 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(0), 5 }, "attention", 0, 0, 0 },
		{ "aten::silu", { S(5) }, "attention", 0, 0, 0 },
		{ "aten::mul", { S(6), S(4) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(7), 6 }, "attention", 0, 0, 0 },
		{ "aten::add", { 1, S(8) }, "residual", 0, 0, 0 },
	};
	const struct step sums[] = {
		{ "aten::gru", { 1, 2 }, "mixer", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "attention", 0, 0, 0 },
		{ "aten::add", { S(1), 7 }, "attention", 0, 0, 0 },
		{ "aten::tanh", { S(2) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(3), 4 }, "attention", 4096, 0, 0 },
		{ "aten::softmax", { S(4) }, "attention", 4096, 0, 0 },
		{ "aten::mul", { S(5), S(0) }, "attention", 0, 0, 0 },
		{ "aten::sum", { S(6) }, "attention", 4096, 0, 0 },
		{ "aten::gru_cell", { S(7), 5 }, "mixer", 4096, 0, 0 },
		{ "aten::linear", { S(8), 6 }, "mlp", 0, 0, 0 },
	};

	/* projections by convolutions; the product behind them is bent and another layer's */
	const struct step projected[] = {
		{ "aten::conv2d", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(0), S(0) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(1) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(2), S(0) }, "attention", 0, 0, 0 },
		{ "aten::conv2d", { S(3), 3 }, "attention", 0, 0, 0 },
	};
	const struct step behind[] = {
		{ "aten::linear", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(0), S(0) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(1) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(2), S(0) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(3), 3 }, "mlp", 0, 0, 0 },
		{ "aten::relu", { S(4) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(5), 4 }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(gate);
	CHECK(sums);
	CHECK(projected);
	CHECK(behind);
}

/* x + a * (x @ w) is a layer; spectra are a mixer; what a cast of nothing calls is no part. */
static void test_layers_of_their_own(void **state)
{
	const struct step crossed[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "mlp", 0, 0, 0 },
		{ "aten::mul", { S(1), S(0) }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(2), S(0) }, "mlp", 0, 0, 0 },
	};
	const struct step spectra[] = {
		{ "aten::layer_norm", { 1, 2 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "mixer", 0, 0, 0 },
		{ "aten::fft_rfft", { S(1) }, "mixer", 0, 0, 0 },
		{ "aten::mul", { S(2), 4 }, "mixer", 0, 0, 0 },
		{ "aten::fft_irfft", { S(3) }, "mixer", 0, 0, 0 },
		{ "aten::add", { 1, S(4) }, "residual", 0, 0, 0 },
	};
	/* pairs of positions, by what each of them has with a third */
	const struct step pairs[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::layer_norm", { S(0), 2 }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(1), 3 }, "mixer", 0, 0, 0 },
		{ "aten::linear", { S(1), 4 }, "mixer", 0, 0, 0 },
		{ "aten::bmm", { S(2), S(3) }, "mixer", 0, 0, 0 },
		{ "aten::linear", { S(4), 5 }, "mixer", 0, 0, 0 },
		{ "aten::add", { S(0), S(5) }, "residual", 0, 0, 0 },
	};
	/* ... and not by a weight that is computed, trained through, of its norm */
	const struct step computed[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::layer_norm", { S(0), 2 }, "norm", 0, 0, 0 },
		{ "aten::mv", { 3, 4 }, "mlp", 4096, 0, 0 },
		{ "aten::div", { 3, S(2) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(1), S(3) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(4), 5 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(0), S(5) }, "residual", 0, 0, 0 },
	};
	/* ... nor by what hands them out to experts */
	const struct step handed_out[] = {
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "mlp", 4096, 0, 0 },
		{ "aten::softmax", { S(1) }, "mlp", 4096, 0, 0 },
		{ "aten::eq", { S(0) }, "mlp", 4096, 0, 0 },
		{ "aten::mul", { S(3), S(3) }, "mlp", 4096, 0, 0 },
		{ "aten::clone", { S(0) }, "mlp", 0, 0, 0 },
		{ "aten::mul", { S(5), S(5) }, "mlp", 0, 0, 0 },
		{ "aten::bmm", { S(4), S(6) }, "mlp", 0, 0, 0 },
		{ "aten::bmm", { S(7), 4 }, "mlp", 0, 0, 0 },
		{ "aten::mul", { S(8), S(2) }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(0), S(9) }, "residual", 0, 0, 0 },
	};
	const struct step joined[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(0), 3 }, "conv", 0, 0, 0 },
		{ "aten::cat", { S(0), S(1) }, "conv", 0, 0, 0 },
		{ "aten::batch_norm", { S(2), 4 }, "norm", 0, 0, 0 },
		{ "aten::relu", { S(3) }, "conv", 0, 0, 0 },
	};
	const struct step lengths[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linalg_vector_norm", { S(0) }, "norm", 4096, 0, 0 },
		{ "aten::div", { S(0), S(1) }, "norm", 0, 0, 0 },
		{ "aten::linear", { S(2), 3 }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(crossed);
	CHECK(spectra);
	CHECK(pairs);
	CHECK(computed);
	CHECK(handed_out);
	CHECK(joined);
	CHECK(lengths);
}

/* The same operator from the same line, of what it made before, by the same weights. */
static void test_loops_over_time(void **state)
{
	const struct step steps[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(1), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(2), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(3), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(4), 3 }, "mixer", 0, 0, 0 },
	};
	const struct step layers[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), 3 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(1), 4 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(2), 5 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(3), 6 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(4), 7 }, "mlp", 0, 0, 0 },
	};

	/* States that are ranked at the end of a plan are no scores: the iterations read them. */
	const struct step plan[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::mm", { S(0), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(1), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(2), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(3), 3 }, "mixer", 0, 0, 0 },
		{ "aten::mm", { S(4), 3 }, "mixer", 0, 0, 0 },
		{ "aten::exp", { S(5) }, "mixer", 0, 0, 0 },
		{ "aten::topk", { S(6) }, "", 4096, 0, 1 },
	};

	(void)state;
	CHECK(steps);
	CHECK(layers);
	CHECK(plan);
}

/* Made alone, by a function of which nothing else is known. */
static void test_constants_are_of_what_reads_them(void **state)
{
	const struct step one[] = {
		{ "aten::ones", { 0 }, "attention", 0, 0, 0 },
		{ "aten::triu", { S(0) }, "attention", 0, 0, 0 },
		{ "aten::linear", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(2), S(2) }, "attention", 0, 0, 0 },
		{ "aten::masked_fill", { S(3), S(1) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(4) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(5), S(2) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(6), 3 }, "attention", 0, 0, 0 },
	};
	/* one mask of two layers is of neither */
	const struct step shared[] = {
		{ "aten::ones", { 0 }, "", 0, 0, 0 },
		{ "aten::linear", { 1, 2 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(1), S(1) }, "attention", 0, 0, 0 },
		{ "aten::masked_fill", { S(2), S(0) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(3) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(4), S(1) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(5), 3 }, "attention", 0, 0, 0 },
		{ "aten::add", { 1, S(6) }, "residual", 0, 0, 0 },
		{ "aten::linear", { S(7), 4 }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(8), S(8) }, "attention", 0, 0, 0 },
		{ "aten::masked_fill", { S(9), S(0) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(10) }, "attention", 0, 0, 0 },
		{ "aten::bmm", { S(11), S(8) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(12), 5 }, "attention", 0, 0, 0 },
		{ "aten::add", { S(7), S(13) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(one);
	CHECK(shared);
}

/* Tokens of patches or features: a product of data, to whose result positions are added. */
static void test_projections_to_which_positions_are_added(void **state)
{
	const struct step patches[] = {
		{ "aten::conv2d", { 1, 2 }, "embedding", 4 * WIDE, 0, 0 },
		{ "aten::cat", { 3, S(0) }, "embedding", 4 * WIDE, 0, 0 },
		{ "aten::add", { S(1), 4 }, "embedding", 4 * WIDE, 0, 0 },
		{ "aten::conv2d", { S(2), 5 }, "conv", 4 * WIDE, 0, 0 },
		{ "aten::add", { S(3), 6 }, "conv", 4 * WIDE, 0, 0 },
	};
	const struct step looked_up[] = {
		{ "aten::linear", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::embedding", { 3, 4 }, "embedding", 0, 0, 0 },
		{ "aten::add", { S(1), S(0) }, "embedding", 0, 0, 0 },
	};
	/* One row is a bias, and what is as large as the result is data. */
	const struct step bias[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 4 * WIDE, 0, 0 },
		{ "aten::arange", { 0 }, "mlp", 4096, 0, 0 },
		{ "aten::add", { S(0), S(1) }, "mlp", 4 * WIDE, 0, 0 },
	};
	const struct step data[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(0), 3 }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(patches);
	CHECK(looked_up);
	CHECK(bias);
	CHECK(data);
}

/* Behind a sum: where a later sum reads it too, it is the stream between layers. */
static void test_what_is_bent_for_a_layer_alone(void **state)
{
	const struct step alone[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::relu", { S(0) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(1), 3 }, "conv", 0, 0, 0 },
		{ "aten::add", { S(0), S(2) }, "residual", 0, 0, 0 },
		{ "aten::relu", { S(3) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(4), 4 }, "conv", 0, 0, 0 },
	};
	const struct step stream[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::relu", { S(0) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(1), 3 }, "conv", 0, 0, 0 },
		{ "aten::add", { S(0), S(2) }, "residual", 0, 0, 0 },
		{ "aten::relu", { S(3) }, "residual", 0, 0, 0 },
		{ "aten::conv2d", { S(4), 4 }, "conv", 0, 0, 0 },
		{ "aten::relu", { S(5) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(6), 5 }, "conv", 0, 0, 0 },
		{ "aten::add", { S(4), S(7) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(alone);
	CHECK(stream);
}

/* Each pair of positions has a bias, which is added to the scores of every layer. */
static void test_scores_are_no_residual_of_their_bias(void **state)
{
	const struct step steps[] = {
		{ "aten::embedding", { 3, 4 }, "embedding", 0, 0, 0 }, /* the bias */
		{ "aten::embedding", { 1, 2 }, "embedding", 0, 0, 0 },
		{ "aten::linear", { S(1), 5 }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(2), S(2) }, "attention", 0, 0, 0 },
		{ "aten::add", { S(3), S(0) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(4) }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(5), S(2) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(6), 6 }, "attention", 0, 0, 0 },
		{ "aten::add", { S(1), S(7) }, "residual", 0, 0, 0 },
		{ "aten::linear", { S(8), 5 }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(9), S(9) }, "attention", 0, 0, 0 },
		{ "aten::add", { S(10), S(0) }, "attention", 0, 0, 0 },
		{ "aten::softmax", { S(11) }, "attention", 0, 0, 0 },
		{ "aten::matmul", { S(12), S(9) }, "attention", 0, 0, 0 },
		{ "aten::linear", { S(13), 6 }, "attention", 0, 0, 0 },
		{ "aten::add", { S(8), S(14) }, "residual", 0, 0, 0 },
	};

	(void)state;
	CHECK(steps);
}

/* The branch halves the picture, and so does the shortcut; an adapter is none. */
static void test_a_shortcut_may_be_a_convolution(void **state)
{
	const struct step convolutions[] = {
		{ "aten::conv2d", { 1, 2 }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(0), 3 }, "conv", 0, 0, 0 },
		{ "aten::batch_norm", { S(1), 4 }, "norm", 0, 0, 0 },
		{ "aten::relu", { S(2) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(3), 5 }, "conv", 0, 0, 0 },
		{ "aten::avg_pool2d", { S(0) }, "conv", 0, 0, 0 },
		{ "aten::conv2d", { S(5), 6 }, "conv", 0, 0, 0 },
		{ "aten::batch_norm", { S(6), 7 }, "norm", 0, 0, 0 },
		{ "aten::add", { S(4), S(7) }, "residual", 0, 0, 0 },
	};
	const struct step adapter[] = {
		{ "aten::linear", { 1, 2 }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(0), 3 }, "mlp", 0, 0, 0 },
		{ "aten::native_dropout", { S(0) }, "mlp", 0, 0, 0 },
		{ "aten::linear", { S(2), 4 }, "mlp", 4096, 0, 0 },
		{ "aten::linear", { S(3), 5 }, "mlp", 0, 0, 0 },
		{ "aten::add", { S(1), S(4) }, "mlp", 0, 0, 0 },
	};

	(void)state;
	CHECK(convolutions);
	CHECK(adapter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attention_is_a_softmax_between_products_of_data),
		cmocka_unit_test(test_a_dropout_before_a_branch_is_of_what_it_drops),
		cmocka_unit_test(test_products_write_what_they_are_given_for_results),
		cmocka_unit_test(test_data_is_joined_to_what_layers_made),
		cmocka_unit_test(test_an_operator_is_what_it_calls_through_others),
		cmocka_unit_test(test_experts_by_hand_are_no_attention_and_no_logits),
		cmocka_unit_test(test_norms_by_hand),
		cmocka_unit_test(test_weights_stay_weights_when_they_are_written),
		cmocka_unit_test(test_convolutions_beside_sums),
		cmocka_unit_test(test_feed_forwards_beside_convolutions),
		cmocka_unit_test(test_softmax_spelled_out),
		cmocka_unit_test(test_pooling_by_scores_of_what_is_pooled),
		cmocka_unit_test(test_attention_without_softmax),
		cmocka_unit_test(test_what_belongs_to_an_attention),
		cmocka_unit_test(test_layers_of_their_own),
		cmocka_unit_test(test_loops_over_time),
		cmocka_unit_test(test_constants_are_of_what_reads_them),
		cmocka_unit_test(test_projections_to_which_positions_are_added),
		cmocka_unit_test(test_what_is_bent_for_a_layer_alone),
		cmocka_unit_test(test_scores_are_no_residual_of_their_bias),
		cmocka_unit_test(test_a_shortcut_may_be_a_convolution),
	};

	return cmocka_run_group_tests_name("dataflow", tests, NULL, NULL);
}
