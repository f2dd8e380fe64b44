/* SPDX-License-Identifier: MIT */
/*
 * Figures that others measured or published, to the digits that they printed.
 */
#include "tests/lib/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/planner/formula_symbols.h"
#include "tests/lib/planned.h"

#define MEASURED_131K                                                                              \
	"mode=train optimizer=sgd seq=131072 repeat-kv=yes rope-cache=131072 load=cast-later"      \
	" loss=copied"

static void assert_gib(double bytes, const char *expected)
{
	char text[32];
	const char *point = strchr(expected, '.');

	snprintf(text, sizeof(text), "%.*f", point ? (int)strlen(point + 1) : 0, bytes / VT_GIB);
	assert_string_equal(text, expected);
}

/* A profiler printed 8.72, 9.35, 25.87 and 62.97 for the stages of a 131072 token forward. */
static void a_forward_of_131072_tokens_is_reproduced(void **state)
{
	struct planned *p = planned_make("dense-4b-131k", MEASURED_131K);
	struct vt_load load = { 0 };
	double model, embedding, layer, cublas = vt_plan_symbol(&p->plan, "cublas");

	(void)state;
	model = planned_bytes(p, "weights", VT_PLANNED_LOAD) +
		planned_bytes(p, "buffers", VT_PLANNED_LOAD);
	assert_gib(model, "8.72");
	/* Ids and labels, not yet shifted, and the first hidden states. */
	embedding = model + 2 * 8 * 131072 +
		    planned_bytes(p, "activations/residual", VT_PLANNED_FIRST_LAYER);
	assert_gib(embedding, "9.35");
	layer = embedding + cublas + planned_bytes(p, "activations/norm", VT_PLANNED_FIRST_LAYER) +
		planned_bytes(p, "activations/attention", VT_PLANNED_FIRST_LAYER) +
		planned_bytes(p, "activations/mlp", VT_PLANNED_FIRST_LAYER);
	assert_gib(layer, "25.87");
	assert_gib(layer + planned_row(p, "(2*e+4+4)*T*V") * 2 / 12, "62.97");

	vt_formula_symbols_load(&p->plan, &load);
	assert_gib((double)load.allocated_bytes, "8.72");
	assert_gib((double)load.reserved_bytes, "18.2");
	planned_release(p);
}

static void logits_and_losses(void **state)
{
	static const struct {
		const char *settings;
		const char *formula, *gib;
	} cases[] = {
		{ "seq=131072", "T*V*e", "37.094" },
		{ "seq=40000", "T*V*e", "11.320" },
		{ "seq=4096", "T*V*e", "1.159" },
		{ "seq=131072 mode=train loss=copied", "(2*e+4+4)*T*V", "222.6" },
		{ "seq=131072 mode=train loss=chunked", "4*T*V", "74.19" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make("dense-4b-131k", cases[i].settings);

		assert_gib(planned_row(p, cases[i].formula), cases[i].gib);
		planned_release(p);
	}
}

/*
 * Cut Cross-Entropy's paper: 24,000 MB and 28,000 MB for Gemma 2 2B at 8192 tokens; the second is
 * with what the soft cap keeps.
 */
static void logits_of_a_large_vocabulary(void **state)
{
	struct planned *p = planned_make("gemma-2-2b", "mode=train seq=8192");

	(void)state;
	assert_true(planned_row(p, "(4+4+4)*T*V") == 24000.0 * VT_MIB);
	assert_true(planned_bytes(p, "logits", VT_PLANNED_BACKWARD_LOSS) == 28000.0 * VT_MIB);
	planned_release(p);
}

static void caches(void **state)
{
	static const struct {
		const char *preset, *settings, *gib;
	} cases[] = {
		{ "llama-2-7b", "seq=2048", "1.000" },
		{ "llama-2-7b", "seq=2048 kv-dtype=fp32", "2.000" },
		{ "llama-2-7b", "seq=2048 kv-cache=none", "0.000" },
		{ "llama-3-8b", "seq=2048", "0.250" },
		{ "mistral-7b", "seq=2048", "0.250" },
		{ "qwen2.5-7b", "seq=2048", "0.11" },
		{ "gemma-3-27b", "seq=131072 kv-cache=static", "10.406" },
		{ "deepseek-v3", "seq=163840 kv-cache=latent", "10.723" },
		{ "kimi-k2", "seq=262144 kv-cache=latent", "17.16" },
		{ "qwen3-0.6b", "seq=40960", "4.375" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make(cases[i].preset, cases[i].settings);

		assert_gib(planned_bytes(p, "kv cache", VT_PLANNED_FORWARD), cases[i].gib);
		planned_release(p);
	}
}

static void bytes_of_cache_per_token(void **state)
{
	static const struct {
		const char *preset, *settings;
		double bytes;
	} cases[] = {
		{ "llama-3-8b", "seq=1", 131072 },
		{ "llama-2-7b", "seq=1", 524288 },
		{ "qwen2.5-1.5b", "seq=1", 28672 },
		{ "qwen2-72b", "seq=1", 327680 },
		{ "deepseek-v3", "seq=1 kv-cache=latent", 70272 },
		{ "deepseek-v3", "seq=1", 70272 },
		{ "deepseek-v3", "seq=1 kv-cache=expanded", 4997120 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make(cases[i].preset, cases[i].settings);

		assert_true(planned_bytes(p, "kv cache", VT_PLANNED_FORWARD) == cases[i].bytes);
		planned_release(p);
	}
}

/* Fractions of parameters: weights, gradients, optimizer. */
static void bytes_per_parameter(void **state)
{
	static const struct {
		const char *settings;
		double weights, gradients, optimizer;
	} cases[] = {
		{ "mode=train dtype=fp32", 4, 4, 8 },
		{ "mode=train dtype=bf16", 2, 2, 4 },
		{ "mode=train dtype=fp32 autocast=bf16", 4, 4, 8 },
		{ "mode=train dtype=bf16 master=fp32", 2, 2, 12 },
		{ "mode=train dtype=bf16 master=fp32 grad-dtype=fp32", 2, 4, 12 },
		{ "mode=train dtype=bf16 master=fp32 data-parallel=8 zero=1", 2, 2, 1.5 },
		{ "mode=train dtype=bf16 master=fp32 data-parallel=8 zero=2", 2, 0.25, 1.5 },
		{ "mode=train dtype=bf16 optimizer=sgd", 2, 2, 0 },
		{ "mode=train dtype=bf16 optimizer=momentum", 2, 2, 2 },
		{ "mode=train dtype=bf16 offload=optimizer", 2, 2, 0 },
		{ "mode=train dtype=bf16 data-parallel=2", 2, 4, 4 },
		{ "mode=train dtype=bf16 data-parallel=2 bucket-view=yes", 2, 2, 4 },
	};
	const double parameters = 6738415616;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make("llama-2-7b", cases[i].settings);
		double tails = vt_plan_symbol(&p->plan, "tails");

		assert_true(planned_bytes(p, "weights", VT_PLANNED_STEP) - tails ==
			    cases[i].weights * parameters);
		assert_true(planned_bytes(p, "gradients", VT_PLANNED_STEP) ==
			    cases[i].gradients * parameters);
		assert_true(planned_bytes(p, "optimizer", VT_PLANNED_STEP) ==
			    cases[i].optimizer * parameters);
		planned_release(p);
	}
}

static void bits_of_quantised_weights(void **state)
{
	static const struct {
		const char *settings, *bits;
	} cases[] = {
		{ "quantise=int8", "8.000" },        { "quantise=nf4", "4.500" },
		{ "quantise=nf4-double", "4.127" },  { "quantise=gptq", "4.156" },
		{ "quantise=awq", "4.156" },         { "quantise=q8_0", "8.500" },
		{ "quantise=q4_k", "4.500" },
	};
	char bits[16];

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make("qwen2-72b", cases[i].settings);

		snprintf(bits, sizeof(bits), "%.3f", vt_plan_symbol(&p->plan, "bits"));
		assert_string_equal(bits, cases[i].bits);
		planned_release(p);
	}
}

/* 75.2, 44.5, 41.2 and 41.5 GB: embeddings and head of Qwen2 72B stay in 16 bit. */
static void quantised_models_keep_their_embeddings(void **state)
{
	static const struct {
		const char *settings, *gigabytes;
	} cases[] = {
		{ "quantise=none", "145.4" },       { "quantise=int8", "75.2" },
		{ "quantise=nf4", "44.5" },         { "quantise=nf4-double", "41.2" },
		{ "quantise=gptq", "41.5" },
	};
	char gigabytes[16];

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make("qwen2-72b", cases[i].settings);
		double tails = vt_plan_symbol(&p->plan, "tails");

		snprintf(gigabytes, sizeof(gigabytes), "%.1f",
			 (planned_bytes(p, "weights", VT_PLANNED_LOAD) - tails) / 1e9);
		assert_string_equal(gigabytes, cases[i].gigabytes);
		planned_release(p);
	}
}

/* What interpretability libraries keep: 33 residual states; every hook at 512, 1024, 2048. */
static void kept_activations(void **state)
{
	static const char every_hook[] = "L*T*e*(7*h+2*a*d+a*dv+2*k*d+k*dv+3*i+2*a*s+2)";
	static const struct {
		const char *settings, *formula, *gib;
	} cases[] = {
		{ "seq=2048 keep=residual", "(L+1)*T*h*e", "0.516" },
		{ "seq=512 keep=all", every_hook, "3.6" },
		{ "seq=1024 keep=all", every_hook, "9.3" },
		{ "seq=2048 keep=all", every_hook, "26.5" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *p = planned_make("llama-2-7b", cases[i].settings);

		assert_gib(planned_row(p, cases[i].formula), cases[i].gib);
		planned_release(p);
	}
}

static void channels_of_nccl(void **state)
{
	struct planned *p = planned_make("llama-2-7b", "mode=train data-parallel=2");
	double bytes = planned_bytes(p, "communication", VT_PLANNED_STEP);

	(void)state;
	assert_true(fmod(bytes, 10 * VT_MIB) == 0 && bytes > 0);
	planned_release(p);
}

/* Partial sums of gradients follow how many blocks a card runs at once. */
static void every_card_says_how_many_blocks_it_runs(void **state)
{
	struct vt_gpu card;
	size_t nr = 0;

	(void)state;
	while (!vt_gpus_at(nr, &card)) {
		if (!card.nr_sms || (card.sm_threads != 1024 && card.sm_threads != 1536 &&
				     card.sm_threads != 2048))
			fail_msg("%s: %u of %u threads", card.name, card.nr_sms, card.sm_threads);
		nr++;
	}
	assert_true(nr > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forward_of_131072_tokens_is_reproduced),
		cmocka_unit_test(logits_and_losses),
		cmocka_unit_test(logits_of_a_large_vocabulary),
		cmocka_unit_test(caches),
		cmocka_unit_test(bytes_of_cache_per_token),
		cmocka_unit_test(bytes_per_parameter),
		cmocka_unit_test(bits_of_quantised_weights),
		cmocka_unit_test(quantised_models_keep_their_embeddings),
		cmocka_unit_test(kept_activations),
		cmocka_unit_test(channels_of_nccl),
		cmocka_unit_test(every_card_says_how_many_blocks_it_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
