/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config_style.h"

#include <string.h>

#include "analyzer/planner/families.h"

static int is_family(const struct vt_config_values *v, const char *key, const char *word)
{
	return vt_families_has(v->family, key, word);
}

/* The first key of a list that has a value; NULL: none. */
static const char *key_of(const struct vt_config_values *v, const char *const *keys)
{
	for (; *keys; keys++) {
		const json_t *value = vt_config_get(v, *keys);

		if (value && !json_is_null(value))
			return *keys;
	}
	return NULL;
}

static const json_t *first_of(const struct vt_config_values *v, const char *const *keys)
{
	const char *key = key_of(v, keys);

	return key ? vt_config_get(v, key) : NULL;
}

static void read_biases(const struct vt_config_values *v, struct vt_tensor_style *style)
{
#define BIAS_LETTER(name, letter) letter,
	static const char letters[] = { VT_BIASES(BIAS_LETTER) };
#undef BIAS_LETTER
	static const char *const attention[] = { "attention_bias", "qkv_bias", "use_qkv_bias",
						 "use_bias", "enable_bias", "bias", NULL };
	static const char *const mlp[] = { "mlp_bias", "use_bias", "enable_bias", "bias", NULL };

	for (int i = 0; i < VT_NR_BIASES; i++) {
		const char always[] = { letters[i], '\0' }, asked[] = { letters[i], '?', '\0' };
		const char *key = key_of(v, i == VT_BIAS_MLP ? mlp : attention);

		style->has_bias[i] =
			is_family(v, "biases", always) ||
			(key && is_family(v, "biases", asked) && vt_config_flag(v, key, 0));
	}
}

static int is_part(const struct vt_config_values *v, const char *key)
{
	double value = json_number_value(vt_config_get(v, key));

	return value > 0 && value < 1;
}

/* transformers 5 keeps it among what it writes about rotation. */
static int is_rotated_in_part(const struct vt_config_values *v)
{
	const json_t *rope = vt_config_get(v, "rope_parameters");
	double part = json_number_value(json_object_get(rope, "partial_rotary_factor"));

	return is_part(v, "partial_rotary_factor") || is_part(v, "rotary_pct") ||
	       (part > 0 && part < 1) || vt_config_key(v, "rotary_dim", 0);
}

static int has_dropout(const struct vt_config_values *v)
{
	static const char *const keys[] = { "resid_pdrop", "hidden_dropout_prob", "dropout_rate",
					    "hidden_dropout", "resid_dropout", "residual_dropout",
					    "dropout", NULL };
	const json_t *value = first_of(v, keys);

	if (json_is_number(value))
		return json_number_value(value) > 0;
	return is_family(v, "dropout", "yes") || is_family(v, "dropout", "layers") ||
	       is_family(v, "dropout", "inner");
}

/*
 * How many tensors of the mlp's width an activation keeps for backward, its result aside: its
 * input, or what operators that it is made of need.  And how many are there at once while it is
 * computed: input and result, and what operators give each other.  In a gated one "gated-" stands
 * before it.
 */
static void measure_activation(const char *activation, struct vt_stack *s)
{
	static const struct {
		const char *name;
		int steps, widest;
	} kinds[] = {
		{ "relu", 0, 2 },	{ "sigmoid", 0, 2 },   { "tanh", 0, 2 },
		{ "quick_gelu", 2, 3 }, { "relu2", 1, 3 },     { "gelu_new", 4, 4 },
		{ "gelu_fast", 4, 4 },
	};

	s->activation_steps = 1;
	s->activation_widest = 2;
	if (!strncmp(activation, "gated-", 6))
		activation += 6;
	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++) {
		if (strcmp(activation, kinds[i].name))
			continue;
		s->activation_steps = kinds[i].steps;
		s->activation_widest = kinds[i].widest;
	}
}

static void read_activation(const struct vt_config_values *v, struct vt_stack *s)
{
	static const char *const keys[] = { "hidden_act", "hidden_activation", "dense_act_fn",
					    "activation_function", "activation",
					    "feed_forward_proj", NULL };
	const char *activation = json_string_value(first_of(v, keys));
	char family[32];

	if (!activation)
		activation = vt_families_get(v->family, "activation", family, sizeof(family));
	/* T5's word for the one that it computes step by step. */
	if (!strcmp(activation, "gated-gelu"))
		activation = "gelu_new";
	measure_activation(activation, s);
}

static enum vt_norm_kind norm_of(const struct vt_config_values *v)
{
	static const struct {
		const char *word;
		enum vt_norm_kind kind;
	} kinds[] = {
		{ "layer", VT_NORM_LAYER },
		{ "layer-fp32", VT_NORM_LAYER_FP32 },
		{ "rms-fp32", VT_NORM_RMS_FP32 },
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++)
		if (is_family(v, "norm", kinds[i].word))
			return kinds[i].kind;
	return VT_NORM_RMS;
}

static void read_parallel(const struct vt_config_values *v, struct vt_stack *s)
{
	int is_usual = is_family(v, "parallel", "yes");
	int has_one = is_family(v, "parallel", "one") &&
		      !vt_config_flag(v, "new_decoder_architecture", 0);

	if (is_family(v, "parallel", "no") ||
	    !vt_config_flag(v, "use_parallel_residual",
			    vt_config_flag(v, "parallel_attn", is_usual)))
		return;
	s->has_shared_norm_input = !has_one;
	if (has_one)
		s->norms = 1;
}

static void read_dropout(const struct vt_config_values *v, struct vt_stack *s)
{
	s->has_dropout = has_dropout(v);
	s->has_attention_dropout = s->has_dropout && !is_family(v, "dropout", "behind-mlp");
	s->has_embedding_dropout = s->has_dropout && !is_family(v, "dropout", "layers");
	s->has_inner_dropout = s->has_dropout && is_family(v, "dropout", "inner");
}

/* The whole square is made, whatever a run's length is. */
static uint64_t causal_buffers(const struct vt_config_values *v, const struct vt_stack *s)
{
	if (is_family(v, "causal_buffer", "layer"))
		return s->attention_layers;
	return is_family(v, "causal_buffer", "model");
}

void vt_config_style(const struct vt_config_values *v, struct vt_stack *s,
		     struct vt_tensor_style *style)
{
	s->norm = norm_of(v);
	s->mlp = is_family(v, "mlp", "plain") ? VT_MLP_PLAIN : VT_MLP_GATED;
	read_activation(v, s);
	s->has_fused_qkv = is_family(v, "qkv", "fused");
	s->has_one_qkv_product = s->has_fused_qkv || is_family(v, "qkv", "joined");
	s->has_joined_rotary = is_family(v, "rotary", "joined") || is_rotated_in_part(v);
	s->has_fp32_rotary = is_family(v, "rotary", "fp32");
	s->has_eager_only = is_family(v, "kernels", "eager");
	s->has_fp32_scores = is_family(v, "scores", "fp32");
	s->has_sinks_in_scores = is_family(v, "scores", "sinks");
	s->has_summed_scores = is_family(v, "scores", "summed");
	s->has_held_scores = is_family(v, "scores", "held");
	s->has_returned_weights = is_family(v, "scores", "returned");
	s->causal_buffers = causal_buffers(v, s);
	s->has_joined_gate = is_family(v, "gate", "joined");
	s->is_sum_of_attention = is_family(v, "sums", "attention");
	s->is_sum_of_mlp = is_family(v, "sums", "mlp");
	s->has_broadcast_keys = is_family(v, "keys", "broadcast");
	read_parallel(v, s);
	s->has_norms_behind = is_family(v, "norms_stand", "behind");
	s->is_attention_held = s->has_shared_norm_input ||
			       (s->norms == 1 && s->attention_layers == s->layers) ||
			       is_family(v, "held", "attention");
	read_dropout(v, s);
	style->has_bare_norms = is_family(v, "norm_weights", "no");
	style->has_sinks = is_family(v, "sinks", "yes");
	style->has_query_gate = is_family(v, "query_gate", "yes");
	s->has_qk_norm = !is_family(v, "qk_norm", "none");
	style->has_full_qk_norm = is_family(v, "qk_norm", "full");
	read_biases(v, style);
	s->has_mlp_bias = style->has_bias[VT_BIAS_MLP];
}

static int ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), tail = strlen(end);

	return len >= tail && !strcmp(text + len - tail, end);
}

int vt_config_is_causal(const struct vt_config_values *v)
{
	const char *class = json_string_value(
		json_array_get(vt_config_get(v, "architectures"), 0));

	return class && (ends_with(class, "ForCausalLM") || ends_with(class, "LMHeadModel"));
}

/* As many as there are labels, which are two where nobody says. */
static uint64_t labels_of(const struct vt_config_values *v)
{
	size_t named = json_object_size(vt_config_get(v, "id2label"));

	return vt_config_key(v, "num_labels", named ? named : 2);
}

/* Of a kind that is not known, a class that does not say otherwise, too. */
int vt_config_has_head(const struct vt_config_values *v, const char *class)
{
	static const char *const with[] = { "LM", "LMHeadModel", "Generation" };
	static const char *const without[] = { "Model", "Encoder", "Classification", "Answering" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(with); i++)
		if (ends_with(class, with[i]))
			return 1;
	for (size_t i = 0; i < VT_ARRAY_SIZE(without); i++)
		if (ends_with(class, without[i]))
			return 0;
	return v->is_guessed;
}

void vt_config_head(const struct vt_config_values *v, struct vt_stack *s,
		    struct vt_tensor_style *style)
{
	const char *class = json_string_value(
		json_array_get(vt_config_get(v, "architectures"), 0));
	int is_encoder = is_family(v, "layout", "encoder");

	s->has_no_head = is_family(v, "head", "none");
	s->has_head_bias = style->has_bias[VT_BIAS_HEAD];
	style->has_pooler = is_encoder && is_family(v, "pooler", "yes");
	if (!class)
		return;
	/* Which is what such a stack predicts the next word with, too. */
	s->has_masked_head = is_encoder &&
			     (ends_with(class, "LM") || ends_with(class, "LMHeadModel"));
	s->has_head_bias |= s->has_masked_head;
	s->has_no_head = !s->has_masked_head && !vt_config_has_head(v, class);
	if (ends_with(class, "Classification"))
		style->labels = labels_of(v);
	if (is_encoder && is_family(v, "pooler", "classifier"))
		style->has_pooler = ends_with(class, "SequenceClassification");
	style->has_pooler &= !s->has_masked_head && !ends_with(class, "TokenClassification");
}
