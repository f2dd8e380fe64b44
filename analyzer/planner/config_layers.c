/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config_layers.h"

#include <string.h>

#include "analyzer/planner/families.h"

enum part {
	HAS_ATTENTION = 1,
	HAS_MIXER = 2,
	HAS_MLP = 4,
	HAS_EXPERTS = 8,
	HAS_SHARED = 16, /* attention and mlp whose weights other layers have, too */
};

static int is_family(const struct vt_config_values *v, const char *key, const char *word)
{
	return vt_families_has(v->family, key, word);
}

/*
 * What lists of layers call them; what stands beside a mixer or attention is another question.  0:
 * nothing that is known.
 */
static unsigned part_of_word(const char *word)
{
	static const struct {
		const char *word;
		unsigned parts;
	} words[] = {
		{ "linear_attention", HAS_MIXER }, { "mamba", HAS_MIXER }, { "mamba2", HAS_MIXER },
		{ "conv", HAS_MIXER },		   { "M", HAS_MIXER },	   { "mlp", HAS_MLP },
		{ "-", HAS_MLP },		   { "moe", HAS_EXPERTS }, { "E", HAS_EXPERTS },
		{ "hybrid", HAS_MIXER | HAS_SHARED },
		{ "full_attention", HAS_ATTENTION }, { "sliding_attention", HAS_ATTENTION },
		{ "chunked_attention", HAS_ATTENTION }, { "attention", HAS_ATTENTION },
		{ "*", HAS_ATTENTION },
	};

	for (size_t i = 0; word && i < VT_ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i].word))
			return words[i].parts;
	return 0;
}

static unsigned known_part(const char *word)
{
	unsigned parts = part_of_word(word);

	return parts ? parts : HAS_ATTENTION;
}

/* A list that is longer than the layers that it could name is read so far. */
static int is_in(const json_t *numbers, uint64_t number)
{
	for (size_t i = 0; i < VT_CONFIG_MAX_LAYERS && i < json_array_size(numbers); i++) {
		const json_t *value = json_array_get(numbers, i);

		if (json_is_integer(value) && (uint64_t)json_integer_value(value) == number)
			return 1;
	}
	return 0;
}

struct rules {
	const json_t *types;    /* a word per layer */
	const json_t *indices;  /* of the layers with attention */
	const char *letters;    /* one per layer */
	size_t nr_letters;
	uint64_t attention_period, attention_offset;
	const json_t *mlps, *dense; /* a word per layer; indices of layers without experts */
	uint64_t first_dense, expert_period, expert_offset, sparse_step;
	unsigned usual; /* where nothing of that says it */
	int is_one_part;
};

static uint64_t at_least_one(uint64_t number)
{
	return number ? number : 1;
}

static const json_t *types_of(const struct vt_config_values *v)
{
	static const char *const lists[] = { "layer_types", "layers_block_type" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(lists); i++) {
		const json_t *types = vt_config_get(v, lists[i]);

		if (json_array_size(types))
			return types;
	}
	return NULL;
}

/* What transformers refuses, too: not a word for each layer. */
static void check_types(const struct vt_config_values *v, const struct vt_stack *s)
{
	const json_t *types = vt_config_get(v, "layer_types"), *type;
	size_t i;

	if (!types || json_is_null(types))
		return;
	if (!json_is_array(types))
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE, "%s: layer_types: must be a list of words",
			    v->where);
	else if (json_array_size(types) && json_array_size(types) != s->layers)
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE,
			    "%s: layer_types: %zu words for %llu layers", v->where,
			    json_array_size(types), (unsigned long long)s->layers);
	json_array_foreach(types, i, type)
		if (!json_is_string(type))
			vt_diag_set(v->diag, VT_EXIT_UNREADABLE,
				    "%s: layer_types: must be a list of words", v->where);
}

const char *vt_config_layers_unknown(const struct vt_config_values *v)
{
	int has_mixers = !is_family(v, "mixer", "none");
	int has_chunks = is_family(v, "chunks", "yes");
	const json_t *type;
	size_t i;

	json_array_foreach(types_of(v), i, type)
	{
		const char *word = json_string_value(type);
		unsigned parts = part_of_word(word);

		if (word && (!parts || (parts & HAS_MIXER && !has_mixers) ||
			     (!strcmp(word, "chunked_attention") && !has_chunks)))
			return word;
	}
	return NULL;
}

static void read_rules(const struct vt_config_values *v, struct rules *rules)
{
	rules->types = types_of(v);
	rules->indices = vt_config_get(v, "attn_layer_indices");
	rules->letters = vt_config_text(v, "hybrid_override_pattern");
	rules->nr_letters = rules->letters ? strlen(rules->letters) : 0;
	rules->attention_period = vt_config_key(v, "attn_layer_period", 0);
	rules->attention_offset = vt_config_key(v, "attn_layer_offset", 0);
	rules->mlps = vt_config_get(v, "mlp_layer_types");
	rules->dense = vt_config_get(v, "mlp_only_layers");
	rules->first_dense = vt_config_size(v, "dense_layers", 0);
	rules->expert_period = at_least_one(vt_config_key(v, "expert_layer_period", 1));
	rules->expert_offset = vt_config_key(v, "expert_layer_offset", 0);
	rules->sparse_step = at_least_one(vt_config_size(v, "sparse_step", 1));
	rules->usual = is_family(v, "mixers", "all")    ? HAS_MIXER :
		       is_family(v, "mixers", "beside") ? HAS_MIXER | HAS_ATTENTION :
							  HAS_ATTENTION;
	rules->is_one_part = is_family(v, "layer_parts", "one");
}

/* Attention, a mixer, or both. */
static unsigned first_part(const struct rules *rules, uint64_t layer)
{
	size_t nr = json_array_size(rules->types);

	if (layer < rules->nr_letters) {
		const char letter[] = { rules->letters[layer], '\0' };

		return known_part(letter);
	}
	if (nr)
		return known_part(json_string_value(json_array_get(rules->types, layer % nr)));
	if (rules->attention_period)
		return layer % rules->attention_period == rules->attention_offset ? HAS_ATTENTION :
										    HAS_MIXER;
	if (json_is_array(rules->indices))
		return is_in(rules->indices, layer) ? HAS_ATTENTION : HAS_MIXER;
	return rules->usual;
}

static unsigned second_part(const struct rules *rules, uint64_t layer)
{
	const char *word = json_string_value(json_array_get(rules->mlps, layer));
	int is_dense = layer < rules->first_dense || is_in(rules->dense, layer) ||
		       layer % rules->expert_period != rules->expert_offset ||
		       (layer + 1) % rules->sparse_step;

	if (word)
		is_dense = !strcmp(word, "dense");
	return is_dense ? HAS_MLP : HAS_EXPERTS;
}

static void count_layers(const struct vt_config_values *v, const struct rules *rules,
			 struct vt_stack *s, struct vt_tensor_style *style)
{
	int has_mixers = !is_family(v, "mixer", "none");

	for (uint64_t layer = 0; layer < s->layers; layer++) {
		unsigned parts = has_mixers ? first_part(rules, layer) : HAS_ATTENTION;

		if (!rules->is_one_part)
			parts |= second_part(rules, layer);
		s->attention_layers += !!(parts & (HAS_ATTENTION | HAS_SHARED));
		s->mixer_layers += !!(parts & HAS_MIXER);
		s->mlp_layers += !!(parts & (HAS_MLP | HAS_EXPERTS | HAS_SHARED));
		s->dense_layers += !!(parts & (HAS_MLP | HAS_SHARED));
		style->shared_layers += !!(parts & HAS_SHARED);
	}
}

/* Of gated delta rules: keys and values have heads of their own. */
static void read_delta(const struct vt_config_values *v, struct vt_stack *s,
		       struct vt_tensor_style *style)
{
	uint64_t key = vt_config_key(v, "linear_num_key_heads", 16) *
		       vt_config_key(v, "linear_key_head_dim", 128);

	style->mixer_heads = vt_config_key(v, "linear_num_value_heads", 32);
	style->mixer_norm = vt_config_key(v, "linear_value_head_dim", 128);
	s->inner = style->mixer_heads * style->mixer_norm;
	s->state = vt_config_key(v, "linear_key_head_dim", 128);
	style->convolved = 2 * key + s->inner;
	style->kernel = vt_config_key(v, "linear_conv_kernel_dim", 4);
	style->projected = style->convolved + s->inner + 2 * style->mixer_heads;
}

static void read_mamba2(const struct vt_config_values *v, struct vt_stack *s,
			struct vt_tensor_style *style)
{
	uint64_t groups = vt_config_size(v, "mixer_groups", 1);
	uint64_t head_dim = vt_config_size(v, "mixer_head_dim", 0);
	uint64_t whole = vt_config_key(v, "mamba_d_ssm", 0);

	style->mixer_heads = vt_config_size(v, "mixer_heads", 128);
	if (whole || head_dim)
		s->inner = whole ? whole : style->mixer_heads * head_dim;
	style->convolved = s->inner + 2 * groups * s->state;
	style->projected = s->inner + style->convolved + style->mixer_heads;
	style->mixer_norm = vt_config_flag(v, "mamba_rms_norm", is_family(v, "mixer_norm", "yes")) ?
				    s->inner :
				    0;
}

/* Layers that mix tokens by a recurrence, or by a convolution alone. */
static void read_mixer(const struct vt_config_values *v, struct vt_stack *s,
		       struct vt_tensor_style *style)
{
	s->state = vt_config_size(v, "mixer_state", 16);
	s->inner = vt_config_size(v, "mixer_inner",
				  s->hidden * vt_config_size(v, "mixer_expand", 2));
	style->kernel = vt_config_size(v, "mixer_kernel", 4);
	style->rank = vt_config_size(v, "mixer_rank", (s->hidden + 15) / 16);
	style->convolved = s->inner;
	style->projected = 2 * s->inner;
	style->has_conv_bias = is_family(v, "conv_bias", "yes");
	style->has_mixer_norms = is_family(v, "mixer_norm", "yes");
	if (is_family(v, "mixer", "mamba2"))
		read_mamba2(v, s, style);
	else if (is_family(v, "mixer", "delta"))
		read_delta(v, s, style);
	else if (is_family(v, "mixer", "convolution"))
		style->projected = 3 * s->inner;
	style->mixer = is_family(v, "mixer", "mamba")	     ? VT_MIXER_MAMBA :
		       is_family(v, "mixer", "convolution") ? VT_MIXER_CONVOLUTION :
		       is_family(v, "mixer", "delta")	     ? VT_MIXER_DELTA :
							       VT_MIXER_MAMBA2;
	s->mixer = style->mixer;
	s->mixer_heads = style->mixer_heads;
	s->projected = style->projected;
	s->convolved = style->convolved;
	s->scanned = vt_config_size(v, "scanned", 256);
	s->state_bytes = 4 * s->mixer_layers *
			 (s->mixer == VT_MIXER_CONVOLUTION ? 0 : s->inner * s->state);
	s->state_bytes += 4 * s->mixer_layers * style->convolved * style->kernel;
}

void vt_config_layers(const struct vt_config_values *v, struct vt_stack *s,
		      struct vt_tensor_style *style)
{
	struct rules rules = { 0 };

	s->layers = vt_config_size(v, "layers", 0);
	/* Where only their list says how many there are. */
	if (!s->layers && json_array_size(types_of(v)))
		s->layers = json_array_size(types_of(v));
	else
		s->layers = vt_config_required(v, "layers");
	if (s->layers > VT_CONFIG_MAX_LAYERS) {
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE, "%s: more than %d layers", v->where,
			    VT_CONFIG_MAX_LAYERS);
		return;
	}
	check_types(v, s);
	read_rules(v, &rules);
	count_layers(v, &rules, s, style);
	if (s->mixer_layers)
		read_mixer(v, s, style);
}
