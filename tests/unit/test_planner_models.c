/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/planner/config.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/families.h"
#include "analyzer/planner/source.h"

/* The sums of numel() over the parameters of the same configurations in transformers 5.23. */
static void presets_have_exactly_their_parameters(void **state)
{
	static const struct {
		const char *preset;
		uint64_t parameters;
	} cases[] = {
		{ "bert-base", 109482240 },
		{ "deepseek-v2-lite", 15706484224 },
		{ "deepseek-v3", 671026404352 },
		{ "dense-4b-131k", 3915962880 },
		{ "gemma-2-2b", 2614341888 },
		{ "gemma-2-9b", 9241705984 },
		{ "gemma-3-1b", 999885952 },
		{ "gemma-3-27b", 27009346304 },
		{ "gpt2", 124439808 },
		{ "gpt2-xl", 1557611200 },
		{ "kimi-k2", 1026408209408 },
		{ "llama-2-7b", 6738415616 },
		{ "llama-2-13b", 13015864320 },
		{ "llama-2-70b", 68976648192 },
		{ "llama-30b", 32528943616 },
		{ "llama-3-8b", 8030261248 },
		{ "llama-3-70b", 70553706496 },
		{ "llama-3.2-1b", 1235814400 },
		{ "llama-3.2-3b", 3212749824 },
		{ "llava-1.5-7b", 7063427072 },
		{ "mamba-130m", 129135360 },
		{ "mistral-7b", 7241732096 },
		{ "mixtral-8x7b", 46702792704 },
		{ "olmo-2-7b", 7298617344 },
		{ "phi-1.5", 1418270720 },
		{ "phi-2", 2779683840 },
		{ "phi-3-mini", 3821079552 },
		{ "pythia-160m", 162322944 },
		{ "qwen2-72b", 72706203648 },
		{ "qwen2.5-0.5b", 494032768 },
		{ "qwen2.5-1.5b", 1543714304 },
		{ "qwen2.5-7b", 7615616512 },
		{ "qwen3-0.6b", 596049920 },
		{ "qwen3-8b", 8190735360 },
		{ "qwen3-30b-a3b", 30532122624 },
		/* 428772800 + 1543714304 + 1152 * 1536 */
		{ "siglip-qwen2.5-1.5b", 1974256576 },
		{ "siglip-so400m-patch16-512", 428772800 },
		{ "t5-base", 222903552 },
		{ "t5-small", 60506624 },
		{ "vit-base-patch16-224", 86389248 },
	};
	char *presets = vt_source_presets();
	size_t blanks = 0;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_architecture model = { 0 };
		struct vt_diag diag = { 0 };

		assert_int_equal(vt_source_open(&model, cases[i].preset, &diag), 0);
		if (vt_architecture_count(&model, NULL, NULL) != cases[i].parameters)
			fail_msg("%s: %llu parameters", cases[i].preset,
				 (unsigned long long)vt_architecture_count(&model, NULL, NULL));
		assert_null(model.note);
		vt_architecture_release(&model);
	}
	for (const char *at = presets; *at; at++)
		blanks += *at == ' ';
	assert_int_equal(blanks + 1, VT_ARRAY_SIZE(cases));
	free(presets);
}

#define LLAMA "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4"
#define WHOLE                                                                                      \
	"\"model_type\": \"llama\", \"vocab_size\": 100, \"intermediate_size\": 128, " LLAMA

static void an_unknown_kind_is_read_as_a_decoder_and_says_so(void **state)
{
	static const char text[] = "{\"model_type\": \"brandnew\", " LLAMA
				   ", \"intermediate_size\": 128, \"vocab_size\": 100}";
	struct vt_architecture model = { 0 };
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_config_read(&model, text, strlen(text), "x", &diag), 0);
	/* Two tables, two layers of 4*64*64 + 3*64*128 + 2*64, one norm. */
	assert_int_equal(vt_architecture_count(&model, NULL, NULL),
			 2 * 6400 + 2 * (16384 + 24576 + 128) + 64);
	assert_non_null(strstr(model.note, "unknown model_type brandnew"));
	vt_architecture_release(&model);
}

/* Python's json writes them, and so they are in published configurations; not in a text. */
static void limits_without_an_end_are_read(void **state)
{
	static const char text[] = "{\"model_type\": \"brand \\\"Infinity\", " LLAMA
				   ", \"time_step_limit\": [0.0, Infinity], \"a\": -Infinity, "
				   "\"b\": NaN, \"intermediate_size\": 128, \"vocab_size\": 100}";
	struct vt_architecture model = { 0 };
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_config_read(&model, text, strlen(text), "x", &diag), 0);
	assert_non_null(strstr(model.note, "unknown model_type brand \"Infinity"));
	vt_architecture_release(&model);
}

/* A model_type that is not known is read like the family whose keys it has, most of them first. */
static void a_family_is_recognised_by_its_keys(void **state)
{
	static const struct {
		const char *keys, *like;
	} cases[] = {
		{ "\"n_embd\": 64, \"n_head\": 4, \"n_layer\": 2", "gpt2" },
		{ "\"n_embd\": 64, \"n_head\": 4, \"n_layer\": 2, \"rotary_dim\": 8", "gptj" },
		{ "\"type_vocab_size\": 2, \"hidden_dropout_prob\": 0.1, " LLAMA, "bert" },
		{ "\"d_model\": 64, \"encoder_layers\": 2, \"decoder_layers\": 2, "
		  "\"encoder_attention_heads\": 4", "bart" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		char *text = vt_xasprintf("{\"model_type\": \"brandnew\", \"vocab_size\": 100, %s}",
					  cases[i].keys);
		struct vt_architecture model = { 0 };
		struct vt_diag diag = { 0 };

		assert_int_equal(vt_config_read(&model, text, strlen(text), "x", &diag), 0);
		assert_string_equal(model.family, cases[i].like);
		assert_non_null(strstr(model.note, "which has the same keys"));
		vt_architecture_release(&model);
		free(text);
	}
}

static void bad_configurations_are_refused_with_the_key(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "invalid JSON: line" },
		{ "[1]", "not a JSON object" },
		{ "{\"a\": 1, \"a\": 2}", "invalid JSON: line" },
		{ "{}", "hidden_size: missing" },
		{ "{\"hidden_size\": -1}", "hidden_size: must be a whole number" },
		{ "{\"hidden_size\": 0}", "hidden_size: must be at least 1" },
		{ "{\"hidden_size\": 1e15}", "hidden_size: must be a whole number" },
		{ "{\"hidden_size\": 1000000000000000}", "hidden_size: must be a whole number" },
		{ "{\"hidden_size\": \"64\"}", "hidden_size: must be a whole number" },
		{ "{\"hidden_size\": 64}", "num_hidden_layers: missing" },
		{ "{" LLAMA "}", "vocab_size: missing" },
		{ "{\"num_key_value_heads\": 3, " LLAMA "}", "do not divide 4 heads" },
		{ "{\"hidden_size\": 65, \"num_hidden_layers\": 1, \"num_attention_heads\": 4}",
		  "does not divide into 4 heads" },
		{ "{\"attention_bias\": 3, " LLAMA "}", "attention_bias: must be true or false" },
		{ "{\"num_experts\": 4, \"num_experts_per_tok\": 5, \"vocab_size\": 9, " LLAMA "}",
		  "more experts per token than experts" },
		{ "{\"hidden_size\": 64, \"num_hidden_layers\": 10001}", "more than 10000 layers" },
		{ "{\"hidden_size\": 64, \"time_step_limit\": [0.0, Infinit]}",
		  "invalid JSON: line 1" },
		{ "{\"hidden_size\": 100000000, \"num_hidden_layers\": 10000, "
		  "\"num_attention_heads\": 1, \"vocab_size\": 100000000}",
		  "more than 2^53 parameters" },
		{ "{\"model_type\": \"llava\"}", "text_config: missing" },
		{ "{\"model_type\": \"vit\", \"patch_size\": 0, \"image_size\": 8, "
		  "\"intermediate_size\": 128, " LLAMA "}",
		  "no sensible number of patches" },
		{ "{\"model_type\": \"llama\", \"vocab_size\": 100, " LLAMA "}",
		  "intermediate_size: missing" },
		{ "{" WHOLE ", \"num_key_value_heads\": 0}", "no heads of keys and values" },
		{ "{" WHOLE ", \"layer_types\": [\"full_attention\"]}",
		  "layer_types: 1 words for 2 layers" },
		{ "{" WHOLE ", \"layer_types\": \"full_attention\"}", "must be a list of words" },
		{ "{" WHOLE ", \"layer_types\": [1, \"full_attention\"]}",
		  "must be a list of words" },
		{ "{" WHOLE ", \"quantization_config\": \"gptq\"}",
		  "quantization_config: must be an object" },
		{ "{" WHOLE ", \"rope_scaling\": \"linear\"}", "rope_scaling: must be an object" },
		{ "{" WHOLE ", \"rope_parameters\": [1]}", "rope_parameters: must be an object" },
		{ "{\"model_type\": \"llava\", \"text_config\": {" WHOLE "}}",
		  "vision_config: missing" },
		{ "{\"model_type\": \"llava\", \"text_config\": {" WHOLE "}, "
		  "\"vision_config\": [1]}", "vision_config: must be an object" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_architecture model = { 0 };
		struct vt_diag diag = { 0 };

		assert_int_equal(vt_config_read(&model, cases[i].text, strlen(cases[i].text), "x",
						&diag), -1);
		assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
		if (!strstr(diag.text, cases[i].message))
			fail_msg("%s: %s", cases[i].text, diag.text);
		vt_architecture_release(&model);
	}
}

/* Numerical Recipes' constants: the same bytes in every run. */
static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A configuration with three wrong bytes is refused, or planned like any other. */
static void damaged_configurations_are_survived(void **state)
{
	static const char good[] =
		"{\"model_type\": \"deepseek_v2\", \"hidden_size\": 2048, "
		"\"num_hidden_layers\": 27, \"num_attention_heads\": 16, "
		"\"intermediate_size\": 10944, \"n_routed_experts\": 64, "
		"\"moe_intermediate_size\": 1408, \"num_experts_per_tok\": 6, "
		"\"kv_lora_rank\": 512, \"first_k_dense_replace\": 1, "
		"\"qk_rope_head_dim\": 64, \"qk_nope_head_dim\": 128, \"v_head_dim\": 128, "
		"\"vocab_size\": 102400, \"sliding_window\": 4096}";
	static const char bytes[] = "0123456789-.eE\"{}[]:, nulltrue";
	struct vt_plan_settings settings;
	uint32_t seed = 7;
	int planned = 0;

	(void)state;
	vt_plan_settings_init(&settings);
	for (int round = 0; round < 20000; round++) {
		struct vt_architecture model = { 0 };
		struct vt_plan plan = { .model = &model, .settings = &settings };
		struct vt_diag diag = { 0 };
		char text[sizeof(good)];

		memcpy(text, good, sizeof(good));
		for (int i = 0; i < 3; i++)
			text[next(&seed) % (sizeof(good) - 1)] =
				bytes[next(&seed) % (sizeof(bytes) - 1)];
		settings.value[VT_SET_MODE] = round % 2;
		model.name = vt_xstrdup("x");
		if (!vt_config_read(&model, text, sizeof(good) - 1, "x", &diag) &&
		    !vt_estimate_make(&plan, &diag)) {
			assert_true(vt_plan_peak(&plan) > 0);
			planned++;
		}
		vt_plan_release(&plan);
		vt_architecture_release(&model);
	}
	assert_in_range(planned, 100, 19900);
}

/* DistilBERT's norms are BERT's; what was compared with runs of BERT was not with its own. */
static void a_family_says_what_its_own_section_has(void **state)
{
	(void)state;
	assert_true(vt_families_has("distilbert", "norm", "layer"));
	assert_false(vt_families_says("distilbert", "norm", "layer"));
	assert_true(vt_families_says("bert", "norm", "layer"));
	assert_true(vt_families_says("distilbert", "like", "bert"));
	assert_false(vt_families_says("llama", "norm", "rms")); /* [default]'s */
	assert_false(vt_families_says("nobody", "norm", "layer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_have_exactly_their_parameters),
		cmocka_unit_test(an_unknown_kind_is_read_as_a_decoder_and_says_so),
		cmocka_unit_test(limits_without_an_end_are_read),
		cmocka_unit_test(a_family_is_recognised_by_its_keys),
		cmocka_unit_test(a_family_says_what_its_own_section_has),
		cmocka_unit_test(bad_configurations_are_refused_with_the_key),
		cmocka_unit_test(damaged_configurations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
