/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/planner/config_layers.h"
#include "analyzer/planner/config_style.h"
#include "analyzer/planner/config_types.h"
#include "analyzer/planner/config_values.h"
#include "analyzer/planner/families.h"
#include "analyzer/planner/tensors.h"

static int is_family(const struct vt_config_values *v, const char *key, const char *word)
{
	return vt_families_has(v->family, key, word);
}

/* How many layers see everything, when `period` - 1 of every `period` see a window only. */
static uint64_t full_of_pattern(uint64_t layers, uint64_t period)
{
	return period ? layers / period : layers;
}

static uint64_t full_of_list(const json_t *types)
{
	uint64_t full = 0;
	const json_t *type;
	size_t i;

	json_array_foreach(types, i, type)
	{
		const char *text = json_string_value(type);

		full += text && !strcmp(text, "full_attention");
	}
	return full;
}

static void read_window(const struct vt_config_values *v, struct vt_stack *s)
{
	const json_t *types = vt_config_get(v, "layer_types");
	uint64_t window = vt_config_key(v, "sliding_window", 0);
	char rule[32];
	unsigned period = 0;

	s->full_layers = s->attention_layers;
	vt_families_get(v->family, "window", rule, sizeof(rule));
	if (!window || !strcmp(rule, "none"))
		return;
	if (!strcmp(rule, "flag") && !vt_config_flag(v, "use_sliding_window", 0))
		return;
	s->window = window;
	s->full_layers = 0;
	if (json_is_array(types))
		s->full_layers = full_of_list(types);
	else if (sscanf(rule, "pattern:%u", &period) == 1)
		s->full_layers = full_of_pattern(
			s->layers, vt_config_key(v, "sliding_window_pattern", period));
	else if (!strcmp(rule, "flag"))
		s->full_layers = vt_config_key(v, "max_window_layers", 0);
	if (s->full_layers > s->attention_layers)
		s->full_layers = s->attention_layers;
}

static void read_experts(const struct vt_config_values *v, struct vt_stack *s,
			 struct vt_tensor_style *style)
{
	s->experts = vt_config_flag(v, "is_moe", 1) ? vt_config_size(v, "experts", 0) : 0;
	if (!s->experts)
		return;
	s->experts_per_token = vt_config_size(v, "experts_per_token", 1);
	s->expert_ffn = vt_config_size(v, "expert_ffn", s->ffn);
	s->shared_ffn = vt_config_size(v, "shared_ffn", 0);
	s->has_shared_gate = style->has_shared_gate =
		s->shared_ffn && !is_family(v, "shared_gate", "no");
	style->has_expert_biases = is_family(v, "expert_biases", "yes");
	if (!s->shared_ffn)
		s->shared_ffn = vt_config_size(v, "shared_experts", 0) * s->expert_ffn;
	if (s->experts_per_token > s->experts ||
	    vt_config_size(v, "dense_layers", 0) > s->layers)
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE,
			    "%s: more experts per token than experts, or more dense layers than "
			    "layers", v->where);
}

static void read_latent_attention(const struct vt_config_values *v, struct vt_stack *s,
				  struct vt_tensor_style *style)
{
	s->kv_rank = vt_config_key(v, "kv_lora_rank", 0);
	if (!s->kv_rank)
		return;
	s->rope_dim = vt_config_key(v, "qk_rope_head_dim", 0);
	style->nope_dim = vt_config_key(v, "qk_nope_head_dim", 0);
	style->query_rank = s->query_rank = vt_config_key(v, "q_lora_rank", 0);
	s->head_dim = s->rope_dim + style->nope_dim;
	s->value_dim = vt_config_key(v, "v_head_dim", s->head_dim);
	s->kv_heads = s->heads;
}

static uint64_t divided(const struct vt_config_values *v, uint64_t whole, uint64_t parts)
{
	if (!parts || whole % parts)
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE,
			    "%s: a width of %llu does not divide into %llu heads", v->where,
			    (unsigned long long)whole, (unsigned long long)parts);
	return parts ? whole / parts : 0;
}

/* Several layers with one block of attention and mlp, over the stream and the embeddings. */
static void read_shared_blocks(const struct vt_config_values *v, struct vt_stack *s,
			       struct vt_tensor_style *style)
{
	if (!style->shared_layers)
		return;
	style->shared_blocks = vt_config_key(v, "num_mem_blocks", 1);
	style->attention_inputs = vt_config_key(v, "attention_hidden_size", 2 * s->hidden);
	s->head_dim = vt_config_key(v, "attention_head_dim",
				    s->heads ? style->attention_inputs / s->heads : 0);
	if (vt_config_flag(v, "use_shared_mlp_adapter", is_family(v, "adapters", "mlp")))
		style->adapter_rank = vt_config_key(v, "adapter_rank", 128);
	style->has_attention_adapters = vt_config_flag(v, "use_shared_attention_adapter", 0);
}

static void read_heads(const struct vt_config_values *v, struct vt_stack *s)
{
	s->heads = vt_config_required(v, "heads");
	s->kv_heads = vt_config_size(v, "kv_heads", s->heads);
	if (!s->kv_heads)
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE, "%s: no heads of keys and values",
			    v->where);
	/* Falcon's and StarCoder's first ones: one head of keys, whatever else is written. */
	if (vt_config_flag(v, "multi_query", 0) &&
	    !vt_config_flag(v, "new_decoder_architecture", 0))
		s->kv_heads = 1;
	s->head_dim = vt_config_size(v, "head_dim", 0);
	if (!s->head_dim && !vt_config_key(v, "kv_lora_rank", 0))
		s->head_dim = divided(v, s->hidden, s->heads);
}

/*
 * For most kinds the class in transformers has a default where the configuration gives none, and it
 * is not known here.  What is read as another kind is a guess anyway.
 */
static uint64_t ffn_of(const struct vt_config_values *v, const struct vt_stack *s)
{
	/* Layers that are mixtures alone have the width of their experts. */
	int has_own = !s->dense_layers && vt_config_size(v, "expert_ffn", 0);
	int is_needed = !has_own && !v->is_guessed && !is_family(v, "ffn_missing", "4h");

	return is_needed ? vt_config_required(v, "ffn") : vt_config_size(v, "ffn", 4 * s->hidden);
}

/* LFM2 writes the width before a gate takes its third, and rounds that up. */
static uint64_t adjusted_ffn(const struct vt_config_values *v, uint64_t ffn)
{
	uint64_t multiple = vt_config_key(v, "block_multiple_of", 0);

	if (!multiple || !vt_config_flag(v, "block_auto_adjust_ff_dim", 0))
		return ffn;
	return (2 * ffn / 3 + multiple - 1) / multiple * multiple;
}

/* What every stack of layers has. */
static void read_stack(const struct vt_config_values *v, struct vt_stack *s,
		       struct vt_tensor_style *style)
{
	char norms[8];

	s->hidden = vt_config_required(v, "hidden");
	vt_config_layers(v, s, style);
	if (s->attention_layers)
		read_heads(v, s);
	if (s->mlp_layers)
		s->ffn = adjusted_ffn(v, ffn_of(v, s));
	read_shared_blocks(v, s, style);
	s->value_dim = s->head_dim;
	s->norms = strtoul(vt_families_get(v->family, "norms", norms, sizeof(norms)), NULL, 10);
	s->max_tokens = vt_config_size(v, "max_tokens", 0);
	vt_config_style(v, s, style);
	read_latent_attention(v, s, style);
	read_window(v, s);
	if (s->kv_heads > s->heads || (s->kv_heads && s->heads % s->kv_heads))
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE,
			    "%s: %llu key and value heads do not divide %llu heads", v->where,
			    (unsigned long long)s->kv_heads, (unsigned long long)s->heads);
}

/* "null" says that there is none; where the key is missing, the family decides. */
static int is_capped(const struct vt_config_values *v, const char *key)
{
	const json_t *value = vt_config_get(v, key);

	return value ? json_is_number(value) : is_family(v, "softcap", "yes");
}

/* OPT and BART begin to count at two. */
static uint64_t positions_of(const struct vt_config_values *v)
{
	uint64_t positions = vt_config_size(v, "positions", 0);

	return positions && is_family(v, "positions_from", "2") ? positions + 2 : positions;
}

/* Of those in the table some come before the first token's. */
static uint64_t reach_of(const struct vt_config_values *v)
{
	uint64_t positions = vt_config_size(v, "positions", 0);
	uint64_t skipped = is_family(v, "positions_skipped", "2") ? 2 : 0;

	return positions > skipped ? positions - skipped : 0;
}

/* A size that models may have beside one that is planned, and usually have as large. */
static void note_other(struct vt_architecture *model, const struct vt_config_values *v,
		       const char *key, uint64_t planned)
{
	if (vt_config_key(v, key, planned) == planned)
		return;
	model->is_guessed = 1;
	vt_architecture_note(model, vt_xasprintf("not understood, and not planned: %s", key));
}

static void read_decoder(struct vt_architecture *model, const struct vt_config_values *v)
{
	struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	struct vt_tensor_style style = { 0 };

	read_stack(v, s, &style);
	s->vocabulary = vt_config_required(v, "vocabulary");
	s->positions = positions_of(v);
	s->reach = reach_of(v);
	s->embedding = vt_config_size(v, "embedding", s->hidden);
	note_other(model, v, "word_embed_proj_dim", s->embedding);
	style.segments = vt_config_size(v, "segments", is_family(v, "segments", "none") ? 0 : 2);
	s->has_embedding_norm = style.has_embedding_norm = is_family(v, "embedding_norm", "yes");
	s->has_soft_cap = is_capped(v, "final_logit_softcapping");
	s->has_scores_cap = is_capped(v, "attn_logit_softcapping");
	s->has_scaled_logits = json_is_number(vt_config_get(v, "logit_scale")) ||
			       json_is_number(vt_config_get(v, "logits_scaling")) ||
			       is_family(v, "logits", "scaled");
	s->has_fp32_router = is_family(v, "router", "fp32");
	s->has_fp32_experts = is_family(v, "router", "weights-fp32");
	/* The loss of the next token is computed in fp32, whatever the kind is. */
	s->has_plain_loss = is_family(v, "loss", "plain") && !vt_config_is_causal(v);
	vt_config_head(v, s, &style);
	s->has_no_cache = is_family(v, "layout", "encoder");
	s->has_generated_cache = vt_config_is_causal(v);
	s->is_cache_off = !vt_config_flag(v, "use_cache", !is_family(v, "use_cache", "no"));
	model->is_tied = model->is_tied && !s->has_no_head;
	read_experts(v, s, &style);
	if (is_family(v, "layout", "encoder"))
		vt_tensors_encoder(model, &style);
	else
		vt_tensors_decoder(model, &style);
}

/* The decoder's own sizes, where they differ from the encoder's. */
static void read_decoder_beside(const struct vt_config_values *v, struct vt_stack *s)
{
	uint64_t layers = vt_config_size(v, "decoder_layers", s->layers);
	uint64_t heads = vt_config_size(v, "decoder_heads", s->heads);

	s->layers = s->attention_layers = s->mlp_layers = s->full_layers = layers;
	if (heads != s->heads) {
		s->heads = s->kv_heads = heads;
		s->head_dim = s->value_dim = divided(v, s->hidden, heads);
	}
	s->ffn = vt_config_size(v, "decoder_ffn", s->ffn);
	s->tokens = s->sound = 0;
	s->norms++; /* before the attention to the encoder */
}

/* Kinds with an encoder have classes without it. */
static void note_decoder_alone(struct vt_architecture *model, const struct vt_config_values *v)
{
	const char *class = json_string_value(
		json_array_get(vt_config_get(v, "architectures"), 0));

	if (!vt_config_is_causal(v))
		return;
	model->is_guessed = 1;
	vt_architecture_note(model, vt_xasprintf("%.60s has no encoder: not planned without it",
						 class));
}

static void read_encoder_decoder(struct vt_architecture *model, const struct vt_config_values *v)
{
	struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	struct vt_stack *encoder = &model->stacks[VT_PART_ENCODER];
	struct vt_tensor_style style = { 0 };
	const char *mlp = vt_config_text(v, "feed_forward_proj");

	/* transformers 5 ties them, whatever an older file says. */
	model->is_tied = is_family(v, "tied", "yes");
	read_stack(v, encoder, &style);
	if (mlp && !strncmp(mlp, "gated", 5))
		encoder->mlp = VT_MLP_GATED;
	if (is_family(v, "relative", "yes"))
		style.relative_buckets = vt_config_key(v, "relative_attention_num_buckets", 32);
	encoder->positions = positions_of(v);
	encoder->reach = reach_of(v);
	encoder->tokens = vt_config_size(v, "encoder_tokens", 0);
	style.encoder_positions = encoder->tokens ? encoder->tokens : encoder->positions;
	style.sound = encoder->sound = vt_config_size(v, "sound", 0);
	style.has_embedding_norm = is_family(v, "embedding_norm", "yes");
	style.has_no_last_norm = is_family(v, "last_norm", "no");
	*s = *encoder;
	read_decoder_beside(v, s);
	s->vocabulary = vt_config_required(v, "vocabulary");
	note_other(model, v, "decoder_vocab_size", s->vocabulary);
	s->has_plain_loss = is_family(v, "loss", "plain");
	s->has_relative_positions = style.relative_buckets > 0;
	s->has_added_bias = is_family(v, "head_bias", "added");
	vt_tensors_encoder_decoder(model, &style);
	note_decoder_alone(model, v);
}

/* A tower without a text is planned as an encoder of so many tokens. */
static void make_main(struct vt_architecture *model)
{
	model->stacks[VT_PART_TEXT] = model->stacks[VT_PART_VISION];
	model->stacks[VT_PART_TEXT].has_no_head = 1;
	model->stacks[VT_PART_TEXT].has_no_cache = 1;
	memset(&model->stacks[VT_PART_VISION], 0, sizeof(model->stacks[VT_PART_VISION]));
	for (size_t i = 0; i < model->nr_tensors; i++)
		model->tensors[i].part = VT_PART_TEXT;
}

static void read_vision(struct vt_architecture *model, const struct vt_config_values *v,
			int is_alone)
{
	struct vt_stack *s = &model->stacks[VT_PART_VISION];
	char number[8];
	int is_siglip = !strncmp(v->family, "siglip", 6), is_clip = !strncmp(v->family, "clip", 4);
	struct vt_tensor_style style = {
		.class_tokens = strtoul(vt_families_get(v->family, "class_tokens", number,
							sizeof(number)),
					NULL, 10),
		.has_patch_bias = !is_clip,
		.has_pre_norm = is_clip,
	};

	read_stack(v, s, &style);
	vt_config_head(v, s, &style);
	style.has_pooler = !is_siglip && !is_clip && !style.labels;
	style.has_attention_head = is_siglip && vt_config_flag(v, "vision_use_head", 1);
	style.channels = vt_config_key(v, "num_channels", 3);
	style.patch = vt_config_key(v, "patch_size", 0);
	model->patch_pixels = style.channels * style.patch * style.patch;
	model->patch_side = style.patch ? vt_config_key(v, "image_size", 0) / style.patch : 0;
	if (!model->patch_side || model->patch_side > 100000 || style.channels > 10000)
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE,
			    "%s: image_size and patch_size give no sensible number of patches",
			    v->where);
	else
		s->tokens = model->patch_side * model->patch_side + style.class_tokens;
	vt_tensors_vision(model, &style);
	if (is_alone)
		make_main(model);
}

static void read_object(struct vt_architecture *model, const json_t *object, const char *where,
			int is_alone, struct vt_diag *diag);

/* Between an image's patches and the text: one linear layer, or two with a bias each. */
static void add_projector(struct vt_architecture *model, int has_two, int has_norm)
{
	uint64_t in = model->stacks[VT_PART_VISION].hidden;
	uint64_t out = model->stacks[VT_PART_TEXT].hidden;
	struct vt_tensor_spec spec = { VT_PART_PROJECTOR, VT_ROLE_LINEAR, out, in, 1, 0 };

	vt_architecture_add(model, "projector.linear_1", &spec);
	if (model->nr_tensors)
		model->tensors[model->nr_tensors - 1].is_shuffled = 1;
	if (has_norm) {
		spec = (struct vt_tensor_spec){ VT_PART_PROJECTOR, VT_ROLE_NORM, in, 1, 1, 0 };
		vt_architecture_add(model, "projector.norm", &spec);
	}
	model->has_projector_mlp = has_two;
	if (!has_two)
		return;
	spec.columns = out;
	vt_architecture_add(model, "projector.linear_2", &spec);
	spec = (struct vt_tensor_spec){ VT_PART_PROJECTOR, VT_ROLE_BIAS, out, 1, 2, 0 };
	vt_architecture_add(model, "projector.bias", &spec);
}

/* In a class that has no head its text has none, whatever it would have alone. */
static json_t *copy_text(const struct vt_config_values *v, const json_t *text)
{
	json_t *classes = (json_t *)vt_config_get(v, "architectures");
	const char *class = json_string_value(json_array_get(classes, 0));
	json_t *copy = json_copy((json_t *)text);

	if (class && !vt_config_has_head(v, class))
		json_object_set(copy, "architectures", classes);
	return copy;
}

static void read_parts(struct vt_architecture *model, const struct vt_config_values *v)
{
	const json_t *text = vt_config_get(v, "text_config");
	const json_t *vision = vt_config_get(v, "vision_config");
	json_t *copy;

	if (!json_is_object(text) || !json_is_object(vision)) {
		vt_diag_set(v->diag, VT_EXIT_UNREADABLE, "%s: %s: missing", v->where,
			    json_is_object(text) ? "vision_config" : "text_config");
		return;
	}
	copy = copy_text(v, text);
	read_object(model, copy, v->where, 0, v->diag);
	json_decref(copy);
	read_object(model, vision, v->where, 0, v->diag);
	model->image_tokens = model->patch_side * model->patch_side;
	add_projector(model, is_family(v, "projector", "mlp"),
		      is_family(v, "projector", "norm"));
}

static int has_key(const char *key, const void *object)
{
	const json_t *value = json_object_get(object, key);

	return value && !json_is_null(value);
}

/* The model_type, or another whose keys the configuration has. */
static const char *known_family(struct vt_architecture *model, const json_t *object, char *buf,
				size_t size)
{
	const char *family = json_string_value(json_object_get(object, "model_type"));
	const char *like;

	if (family && vt_families_is_known(family))
		return family;
	like = vt_families_recognise(has_key, object, buf, size);
	model->is_guessed = 1;
	free(model->note);
	if (!family)
		family = "(missing)";
	if (like)
		model->note = vt_xasprintf(
			"unknown model_type %.40s: read like %s, which has the same keys", family,
			like);
	else
		model->note = vt_xasprintf("unknown model_type %.40s: read as a decoder like Llama",
					   family);
	return like ? like : VT_FAMILY_FALLBACK;
}

static int is_object_key(const char *key)
{
	static const char end[] = "_config";
	size_t len = strlen(key), tail = strlen(end);

	return (len > tail && !strcmp(key + len - tail, end)) || !strcmp(key, "rope_scaling") ||
	       !strcmp(key, "rope_parameters");
}

/* Parts of the model, of its types and of its rotation are objects. */
static void check_parts(const json_t *object, const char *where, struct vt_diag *diag)
{
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)object, key, value) {
		if (is_object_key(key) && !json_is_object(value) && !json_is_null(value))
			vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %.60s: must be an object",
				    where, key);
	}
}

/* What was not understood takes memory that no formula has. */
static void note_unread(struct vt_architecture *model, const struct vt_config_values *v)
{
	char *keys = vt_config_unread(v);
	const char *word = vt_config_layers_unknown(v);

	if (word) {
		model->is_guessed = 1;
		vt_architecture_note(model, vt_xasprintf("not understood, and not planned: layers "
							 "of the kind %.40s",
							 word));
	}

	if (!keys)
		return;
	model->is_guessed = 1;
	model->unread += vt_config_unread_product(v, model->stacks[VT_PART_TEXT].hidden) *
			 (double)model->stacks[VT_PART_TEXT].layers;
	vt_architecture_note(model, vt_xasprintf("not understood, and not planned: %s", keys));
	free(keys);
}

static void read_kind(struct vt_architecture *model, struct vt_config_values *v, int is_alone)
{
	/* One level of parts: a part that has parts again is read as a decoder. */
	if (is_family(v, "layout", "text+vision")) {
		if (model->family)
			v->family = VT_FAMILY_FALLBACK;
		free(model->family);
		model->family = vt_xstrdup(v->family);
		if (strcmp(v->family, VT_FAMILY_FALLBACK)) {
			read_parts(model, v);
			return;
		}
	}
	if (!model->family)
		model->family = vt_xstrdup(v->family);
	if (!is_family(v, "layout", "vision"))
		model->is_tied =
			vt_config_flag(v, "tie_word_embeddings", is_family(v, "tied", "yes"));
	if (is_family(v, "layout", "vision"))
		read_vision(model, v, is_alone);
	else if (is_family(v, "layout", "encoder-decoder"))
		read_encoder_decoder(model, v);
	else
		read_decoder(model, v);
}

static void read_object(struct vt_architecture *model, const json_t *object, const char *where,
			int is_alone, struct vt_diag *diag)
{
	char like[64];
	const char *family = known_family(model, object, like, sizeof(like));
	json_t *whole = vt_config_fill(object, model->is_guessed ? VT_FAMILY_FALLBACK : family);
	struct vt_config_values v = { whole, family, where, diag, json_object(),
				      model->is_guessed };

	check_parts(object, where, diag);
	read_kind(model, &v, is_alone);
	note_unread(model, &v);
	json_decref(v.asked);
	json_decref(whole);
}

/* Other libraries name a class of theirs; what their sizes mean is not known here. */
static int refuse_other_library(const json_t *config, const char *where, struct vt_diag *diag)
{
	static const struct {
		const char *key, *library;
	} others[] = { { "_class_name", "diffusers" }, { "architecture", "timm" } };

	if (json_object_get(config, "model_type"))
		return 0;
	for (size_t i = 0; i < VT_ARRAY_SIZE(others); i++) {
		if (!json_is_string(json_object_get(config, others[i].key)))
			continue;
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: a configuration of %s, which has no formulas here; --run builds "
			    "the model and runs it", where, others[i].library);
		return -1;
	}
	return 0;
}

/*
 * The part of a kind that is not known which can be planned: its text, where it has no sizes itself
 * and none of a tower of images in transformers' usual words.  NULL: the whole can.
 */
static const json_t *text_alone(const json_t *config)
{
	const json_t *text = json_object_get(config, "text_config");
	const char *family = json_string_value(json_object_get(config, "model_type"));
	const json_t *vision = json_object_get(config, "vision_config");

	if (!json_is_object(text) || has_key("hidden_size", config) ||
	    (family && vt_families_is_known(family)))
		return NULL;
	return has_key("num_hidden_layers", vision) && has_key("hidden_size", vision) ? NULL : text;
}

static void note_text_alone(struct vt_architecture *model, const json_t *config)
{
	const char *family = json_string_value(json_object_get(config, "model_type"));

	model->is_guessed = 1;
	vt_architecture_note(model, vt_xasprintf("of %.40s only text_config is planned",
						 family ? family : "a kind without model_type"));
}

int vt_config_from_json(struct vt_architecture *model, const json_t *config, const char *where,
			struct vt_diag *diag)
{
	const json_t *text;

	if (!json_is_object(config)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a JSON object", where);
		return -1;
	}
	if (refuse_other_library(config, where, diag))
		return -1;
	text = text_alone(config);
	read_object(model, text ? text : config, where, 1, diag);
	if (text)
		note_text_alone(model, config);
	vt_config_types(model, config);
	vt_printable_make(model->note);
	if (model->is_too_large)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: more than 2^53 parameters", where);
	return diag->exit_code ? -1 : 0;
}
