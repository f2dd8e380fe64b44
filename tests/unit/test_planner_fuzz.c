/* SPDX-License-Identifier: MIT */
/*
 * Damaged configurations, terms and sheets: each is planned, or refused in one line with exit code
 * 2 or 3.
 * VT_FUZZ_ROUNDS in the environment for more than the quick rounds.
 */
#include "tests/lib/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/embedded.h"
#include "analyzer/planner/config.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/formula_parts.h"
#include "analyzer/planner/plan_replay.h"
#include "analyzer/planner/term_rules.h"
#include "analyzer/planner/validation.h"
#include "analyzer/planner/sheet.h"
#include "analyzer/planner/source.h"
#include "tests/lib/planned.h"

#define QUICK_ROUNDS 1500
/* Plans of each configuration that are likely to be played. */
#define NR_PLAYS 4

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static const char *const numbers[] = {
	"0",  "-1", "1", "2", "3", "7", "1000000000000000", "9223372036854775807", "1e308", "0.5",
	"\"8\"", "null", "true", "[]", "{}", "[1,2,3]", "4096",
};

/* Another value in the place of one number, so that the text remains JSON. */
static char *change_number(const char *text, uint32_t *seed)
{
	size_t at = next(seed) % strlen(text), len;
	const char *value = numbers[next(seed) % VT_ARRAY_SIZE(numbers)];

	while (text[at] && !(text[at] >= '1' && text[at] <= '9'))
		at++;
	len = strspn(text + at, "0123456789.e+-");
	return vt_xasprintf("%.*s%s%s", (int)at, text, len ? value : "", text + at + len);
}

static char *change_bytes(const char *text, uint32_t *seed)
{
	char *copy = vt_xstrdup(text);
	size_t len = strlen(copy);

	for (uint32_t i = next(seed) % 4; len && i < 4; i++)
		copy[next(seed) % len] = (char)(1 + next(seed) % 255);
	if (len && next(seed) % 8 == 0)
		copy[next(seed) % len] = '\0';
	return copy;
}

static char *damage(const char *text, uint32_t *seed)
{
	char *copy = vt_xstrdup(text);

	for (uint32_t i = 0, nr = 1 + next(seed) % 4; *copy && i < nr; i++) {
		char *changed = next(seed) % 4 ? change_number(copy, seed) :
						 change_bytes(copy, seed);

		free(copy);
		copy = changed;
	}
	return copy;
}

static void check_refusal(const struct vt_diag *diag)
{
	assert_true(diag->exit_code == VT_EXIT_USAGE || diag->exit_code == VT_EXIT_UNREADABLE);
	assert_true(diag->text[0] && !strchr(diag->text, '\n'));
}

/* Some word or number for every third setting. */
static void make_settings(struct vt_plan_settings *settings, uint32_t *seed)
{
	struct vt_diag diag = { 0 };
	char word[32];

	vt_plan_settings_init(settings);
	for (int id = 0; id < VT_NR_SETTINGS; id++) {
		if (next(seed) % 3)
			continue;
		if (!vt_plan_settings_word((enum vt_setting)id, next(seed) % 8, word, sizeof(word)))
			snprintf(word, sizeof(word), "%s",
				 numbers[next(seed) % VT_ARRAY_SIZE(numbers)]);
		vt_plan_settings_set(settings, (enum vt_setting)id, word, &diag);
	}
}

/* Plans that are played are few of those: some that mostly are. */
static void make_playable(struct vt_plan_settings *settings, uint32_t *seed)
{
	static const struct {
		enum vt_setting id;
		const char *value;
	} usual[] = {
		{ VT_SET_NEW_TOKENS, "3" },    { VT_SET_NEW_TOKENS, "100" },
		{ VT_SET_KV_CACHE, "latent" }, { VT_SET_KV_CACHE, "expanded" },
		{ VT_SET_KV_CACHE, "static" }, { VT_SET_MODE, "train" },
		{ VT_SET_AUTOCAST, "bf16" },   { VT_SET_CHECKPOINTING, "full" },
		{ VT_SET_ACCUMULATE, "3" },    { VT_SET_ATTENTION, "eager" },
	};
	struct vt_diag diag = { 0 };

	vt_plan_settings_init(settings);
	for (int i = 0; i < 3; i++) {
		uint32_t one = next(seed) % VT_ARRAY_SIZE(usual);

		vt_plan_settings_set(settings, usual[one].id, usual[one].value, &diag);
	}
}

/* A term's tensors are all of its bytes, but for what doubles round. */
static void check_parts(const struct vt_plan *plan)
{
	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];
		struct vt_formula_parts parts = { 0 };
		double sum = 0;

		assert_int_not_equal(term->played, VT_PLAYED_UNSAID);
		vt_formula_split(term->formula, &plan->symbols, &parts);
		for (size_t j = 0; j < parts.len; j++)
			sum += parts.items[j].bytes * parts.items[j].count *
			       (parts.items[j].layers ? parts.items[j].layers : 1);
		if (fabs(sum - term->bytes) > 1 + term->bytes * 1e-9)
			fail_msg("%s: %s: %.17g in parts, %.17g in all", plan->model->family,
				 term->formula, sum, term->bytes);
		vt_vector_release(&parts);
	}
}

/* Each within its range, stages the sums of their terms, the peak the largest of them. */
static void check_figures(const struct vt_plan *plan)
{
	double sums[VT_NR_PLAN_STAGES] = { 0 };

	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];

		if (term->low < 0 || term->low > term->bytes || term->bytes > term->high)
			fail_msg("%s: %s: %.17g not in %.17g to %.17g", plan->model->family,
				 term->formula, term->bytes, term->low, term->high);
		for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
			sums[stage] += term->stages & 1u << stage ? term->bytes : 0;
	}
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++) {
		assert_true(fabs(sums[stage] - plan->bytes[stage]) <= 1 + sums[stage] * 1e-9);
		assert_true(plan->bytes[stage] <= vt_plan_peak(plan));
		assert_true(plan->low[stage] <= plan->bytes[stage] * (1 + 1e-9));
		assert_true(plan->bytes[stage] <= plan->high[stage] * (1 + 1e-9));
	}
}

static const char *g_text; /* of the model that is planned */

/* Whether it was played: what was is within its segments. */
static int play(const struct vt_plan *plan)
{
	struct vt_plan_replay replay = { 0 };
	int is_played;

	vt_plan_replay_run(&replay, plan);
	is_played = replay.is_played;
	if (replay.allocated_bytes > replay.reserved_bytes)
		fail_msg("%s: %llu of %llu bytes reserved; peak %.17g\n%s", plan->model->family,
			 (unsigned long long)replay.allocated_bytes,
			 (unsigned long long)replay.reserved_bytes, vt_plan_peak(plan), g_text);
	assert_true(!is_played == !replay.reserved_bytes);
	vt_plan_replay_release(&replay);
	return is_played;
}

/* Whether a plan came of it, and it was played. */
static int plan(const struct vt_architecture *model, const struct vt_plan_settings *settings)
{
	struct vt_plan plan = { .model = model, .settings = settings, .is_explained = 1 };
	struct vt_diag diag = { 0 };
	int is_played = 0;

	if (vt_validate_settings(settings, &diag) || vt_estimate_make(&plan, &diag)) {
		check_refusal(&diag);
	} else {
		assert_true(vt_plan_peak(&plan) >= 0 && vt_plan_peak(&plan) < VT_FORMULA_MAX);
		check_parts(&plan);
		check_figures(&plan);
		is_played = play(&plan);
	}
	vt_plan_release(&plan);
	return is_played;
}

/* Kinds of models that no preset is of. */
static const char *const written[] = {
	"{\"model_type\":\"bart\",\"d_model\":64,\"encoder_layers\":3,\"decoder_layers\":2,"
	"\"encoder_attention_heads\":4,\"decoder_attention_heads\":8,\"vocab_size\":100,"
	"\"max_position_embeddings\":32,\"decoder_ffn_dim\":96}",
	"{\"model_type\":\"whisper\",\"d_model\":64,\"encoder_layers\":3,\"num_mel_bins\":80,"
	"\"encoder_attention_heads\":4,\"vocab_size\":100,\"max_source_positions\":1500}",
	"{\"model_type\":\"jamba\",\"hidden_size\":64,\"num_hidden_layers\":8,\"vocab_size\":100,"
	"\"num_attention_heads\":4,\"num_experts\":4,\"num_experts_per_tok\":2,"
	"\"attn_layer_period\":4,\"attn_layer_offset\":2,\"expert_layer_period\":2}",
	"{\"model_type\":\"bamba\",\"hidden_size\":64,\"num_hidden_layers\":8,\"vocab_size\":100,"
	"\"num_attention_heads\":4,\"attn_layer_indices\":[2,5],\"mamba_n_heads\":16,"
	"\"mamba_d_head\":8,\"mamba_d_state\":16,\"time_step_limit\":[0.0,Infinity]}",
	"{\"model_type\":\"zamba2\",\"hidden_size\":64,\"num_hidden_layers\":4,\"vocab_size\":100,"
	"\"num_attention_heads\":4,\"layers_block_type\":"
	"[\"mamba\",\"hybrid\",\"mamba\",\"hybrid\"],"
	"\"use_shared_attention_adapter\":true,\"adapter_rank\":8,\"num_mem_blocks\":2}",
	"{\"model_type\":\"nemotron_h\",\"hidden_size\":64,\"num_hidden_layers\":6,"
	"\"hybrid_override_pattern\":\"M-M*E-\",\"vocab_size\":100,\"num_attention_heads\":4,"
	"\"n_routed_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32}",
	"{\"model_type\":\"qwen3_next\",\"hidden_size\":64,\"num_hidden_layers\":4,"
	"\"num_attention_heads\":4,\"vocab_size\":100,\"num_experts\":8,\"num_experts_per_tok\":2,"
	"\"mlp_only_layers\":[0],\"linear_num_value_heads\":4,\"layer_types\":["
	"\"linear_attention\","
	"\"linear_attention\",\"linear_attention\",\"full_attention\"]}",
};

/* All presets with those. */
static json_t *configurations(void)
{
	json_t *all = json_loadb(vt_embedded_presets, strlen(vt_embedded_presets), 0, NULL);

	for (size_t i = 0; i < VT_ARRAY_SIZE(written); i++)
		json_object_set_new(all, written[i], json_string(written[i]));
	return all;
}

/* Each of them damaged. */
static void damaged_configurations(void **state)
{
	json_t *presets = configurations();
	uint32_t seed = 1, planned = 0, refused = 0, played = 0;
	unsigned long nr = planned_rounds(QUICK_ROUNDS);

	(void)state;
	assert_non_null(presets);
	while (nr) {
		const char *name;
		json_t *preset;

		json_object_foreach(presets, name, preset)
		{
			struct vt_architecture model = { 0 };
			struct vt_plan_settings settings;
			struct vt_diag diag = { 0 };
			char *good = json_is_string(preset) ?
					     vt_xstrdup(json_string_value(preset)) :
					     json_dumps(preset, 0);
			char *bad = damage(good, &seed);

			g_text = bad;
			if (nr && !vt_config_read(&model, bad, strlen(bad), "x", &diag)) {
				make_settings(&settings, &seed);
				plan(&model, &settings);
				for (int i = 0; i < NR_PLAYS; i++) {
					make_playable(&settings, &seed);
					played += (uint32_t)plan(&model, &settings);
				}
				planned++;
			} else if (nr) {
				check_refusal(&diag);
				refused++;
			}
			nr -= nr > 0;
			vt_architecture_release(&model);
			free(bad);
			free(good);
		}
	}
	json_decref(presets);
	/* All happen, or nothing was tried. */
	assert_true(planned > 0 && refused > 0 && played > 0);
}

/* Plans by terms of which one file was damaged. */
static void damaged_terms(void **state)
{
	uint32_t seed = 11, planned = 0, refused = 0;
	struct planned *preset = planned_make("gpt2", "");
	size_t nr_files = 0;

	(void)state;
	while (vt_embedded_terms[nr_files].name)
		nr_files++;
	for (unsigned long i = 0; i < planned_rounds(QUICK_ROUNDS) / 4; i++) {
		const char *good = vt_embedded_terms[next(&seed) % nr_files].text;
		char *bad = damage(good, &seed);
		char *text = vt_xasprintf("%s\n[include]\nterms = default\n", bad);
		struct vt_plan_settings settings;
		struct vt_term_rules rules;
		struct vt_diag diag = { 0 };

		g_text = text;
		make_playable(&settings, &seed);
		settings.terms = &rules;
		if (vt_term_rules_parse(&rules, "x", text, strlen(text), &diag)) {
			check_refusal(&diag);
			refused++;
		} else {
			plan(&preset->model, &settings);
			planned++;
		}
		vt_term_rules_release(&rules);
		free(text);
		free(bad);
	}
	planned_release(preset);
	assert_true(planned > 0 && refused > 0);
}

static void damaged_sheets(void **state)
{
	static const char good[] = "[symbols]\nP = 72e9\nb = max(2, 3)\ns = ceil(P/b)\n[rows]\n"
				   "weights = P*2\nlogits = (b*s+1)*min(4,2)/7\n";
	uint32_t seed = 7, computed = 0;

	(void)state;
	for (unsigned long i = 0; i < planned_rounds(QUICK_ROUNDS); i++) {
		struct vt_sheet sheet = { 0 };
		struct vt_diag diag = { 0 };
		char *bad = damage(good, &seed);

		if (vt_sheet_compute(&sheet, "x", bad, NULL, 0, &diag))
			check_refusal(&diag);
		else
			computed++;
		vt_sheet_release(&sheet);
		free(bad);
	}
	assert_true(computed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_configurations),
		cmocka_unit_test(damaged_terms),
		cmocka_unit_test(damaged_sheets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
