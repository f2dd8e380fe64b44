/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/tensors.h"

/* Where parameters go to, and what does not change from one to the next. */
struct layer {
	struct vt_architecture *model;
	const struct vt_tensor_style *style;
	enum vt_part part;
	uint64_t count; /* layers */
};

static void add(const struct layer *layer, const char *name, enum vt_tensor_role role,
		uint64_t rows, uint64_t columns, uint64_t count)
{
	const struct vt_tensor_spec spec = {
		.part = layer->part,
		.role = role,
		.rows = rows,
		.columns = columns,
		.count = count,
		.is_in_layer = layer->count > 0,
	};

	vt_architecture_add(layer->model, name, &spec);
}

/* A linear layer and its bias. */
static void add_linear(const struct layer *layer, const char *name, uint64_t rows, uint64_t columns,
		       int has_bias)
{
	add(layer, name, VT_ROLE_LINEAR, rows, columns, layer->count);
	if (has_bias)
		add(layer, name, VT_ROLE_BIAS, rows, 1, layer->count);
}

static void add_norms(const struct layer *layer, const char *name, uint64_t width, uint64_t count)
{
	int has_bias = layer->style->has_bias[VT_BIAS_NORM];

	if (layer->style->has_bare_norms)
		return;
	add(layer, name, VT_ROLE_NORM, width, 1, count * (has_bias ? 2 : 1));
}

static void add_latent_attention(const struct layer *layer, const struct vt_stack *s)
{
	const struct vt_tensor_style *style = layer->style;

	if (style->query_rank) {
		add_linear(layer, "self_attn.q_a_proj", style->query_rank, s->hidden, 0);
		add_norms(layer, "self_attn.q_a_layernorm", style->query_rank, layer->count);
		add_linear(layer, "self_attn.q_b_proj", s->heads * s->head_dim, style->query_rank,
			   0);
	} else {
		add_linear(layer, "self_attn.q_proj", s->heads * s->head_dim, s->hidden, 0);
	}
	add_linear(layer, "self_attn.kv_a_proj", s->kv_rank + s->rope_dim, s->hidden, 0);
	add_norms(layer, "self_attn.kv_a_layernorm", s->kv_rank, layer->count);
	add_linear(layer, "self_attn.kv_b_proj", s->heads * (style->nope_dim + s->value_dim),
		   s->kv_rank, 0);
	add_linear(layer, "self_attn.o_proj", s->hidden, s->heads * s->value_dim, 0);
}

static void add_attention(const struct layer *layer, const struct vt_stack *s)
{
	const int *has_bias = layer->style->has_bias;
	uint64_t q = s->heads * s->head_dim, k = s->kv_heads * s->head_dim;
	uint64_t gate = layer->style->has_query_gate ? 2 : 1;
	uint64_t in = layer->style->attention_inputs ? layer->style->attention_inputs : s->hidden;

	if (!layer->count)
		return;
	if (s->kv_rank) {
		add_latent_attention(layer, s);
		return;
	}
	if (s->has_one_qkv_product) {
		add_linear(layer, "self_attn.qkv_proj", gate * q + 2 * k, in,
			   has_bias[VT_BIAS_QUERY]);
	} else {
		add_linear(layer, "self_attn.q_proj", gate * q, in, has_bias[VT_BIAS_QUERY]);
		add_linear(layer, "self_attn.k_proj", k, in, has_bias[VT_BIAS_KEY]);
		add_linear(layer, "self_attn.v_proj", k, in, has_bias[VT_BIAS_VALUE]);
	}
	add_linear(layer, "self_attn.o_proj", s->hidden, q, has_bias[VT_BIAS_OUTPUT]);
	if (layer->style->has_sinks)
		add(layer, "self_attn.sinks", VT_ROLE_OTHER, s->heads, 1, layer->count);
	if (!s->has_qk_norm)
		return;
	add_norms(layer, "self_attn.q_norm", layer->style->has_full_qk_norm ? q : s->head_dim,
		  layer->count);
	add_norms(layer, "self_attn.k_norm", layer->style->has_full_qk_norm ? k : s->head_dim,
		  layer->count);
}

static void add_mlp(const struct layer *layer, const struct vt_stack *s)
{
	int has_bias = layer->style->has_bias[VT_BIAS_MLP];

	if (s->mlp == VT_MLP_GATED && !s->has_joined_gate)
		add_linear(layer, "mlp.gate_proj", s->ffn, s->hidden, has_bias);
	add_linear(layer, s->has_joined_gate ? "mlp.gate_up_proj" : "mlp.up_proj",
		   s->has_joined_gate ? 2 * s->ffn : s->ffn, s->hidden, has_bias);
	add_linear(layer, "mlp.down_proj", s->hidden, s->ffn, has_bias);
}

static void add_experts(const struct layer *layer, const struct vt_stack *s)
{
	uint64_t count = layer->count * s->experts;

	add(layer, "mlp.router", VT_ROLE_OTHER, s->experts, s->hidden, layer->count);
	if (s->mlp == VT_MLP_GATED)
		add(layer, "mlp.experts.gate_proj", VT_ROLE_EXPERT, s->expert_ffn, s->hidden,
		    count);
	add(layer, "mlp.experts.up_proj", VT_ROLE_EXPERT, s->expert_ffn, s->hidden, count);
	add(layer, "mlp.experts.down_proj", VT_ROLE_EXPERT, s->hidden, s->expert_ffn, count);
	if (layer->style->has_expert_biases) {
		add(layer, "mlp.router.bias", VT_ROLE_BIAS, s->experts, 1, layer->count);
		add(layer, "mlp.experts.up.bias", VT_ROLE_BIAS, 2 * s->expert_ffn, 1, count);
		add(layer, "mlp.experts.down.bias", VT_ROLE_BIAS, s->hidden, 1, count);
	}
	if (s->mlp == VT_MLP_GATED)
		add_linear(layer, "mlp.shared.gate_proj", s->shared_ffn, s->hidden, 0);
	add_linear(layer, "mlp.shared.up_proj", s->shared_ffn, s->hidden, 0);
	add_linear(layer, "mlp.shared.down_proj", s->hidden, s->shared_ffn, 0);
	if (layer->style->has_shared_gate)
		add_linear(layer, "mlp.shared.gate", 1, s->hidden, 0);
}

/* State spaces of the first kind: steps, inputs and outputs of the state come from one product. */
static void add_mamba(const struct layer *layer, const struct vt_stack *s)
{
	const struct vt_tensor_style *style = layer->style;

	add_linear(layer, "mixer.x_proj", style->rank + 2 * s->state, s->inner, 0);
	add_linear(layer, "mixer.dt_proj", s->inner, style->rank, 1);
	add(layer, "mixer.A_log", VT_ROLE_OTHER, s->inner, s->state, layer->count);
	add(layer, "mixer.D", VT_ROLE_OTHER, s->inner, 1, layer->count);
	if (!style->has_mixer_norms)
		return;
	add_norms(layer, "mixer.dt_layernorm", style->rank, layer->count);
	add_norms(layer, "mixer.b_layernorm", s->state, layer->count);
	add_norms(layer, "mixer.c_layernorm", s->state, layer->count);
}

static void add_mixer(const struct layer *layer, const struct vt_stack *s)
{
	const struct vt_tensor_style *style = layer->style;

	if (!layer->count)
		return;
	add_linear(layer, "mixer.in_proj", style->projected, s->hidden, 0);
	add(layer, "mixer.conv1d", VT_ROLE_OTHER, style->convolved, style->kernel, layer->count);
	if (style->has_conv_bias)
		add(layer, "mixer.conv1d.bias", VT_ROLE_BIAS, style->convolved, 1, layer->count);
	if (s->mixer == VT_MIXER_MAMBA)
		add_mamba(layer, s);
	if (s->mixer == VT_MIXER_MAMBA2 || s->mixer == VT_MIXER_DELTA) {
		add(layer, "mixer.dt_bias", VT_ROLE_OTHER, style->mixer_heads, 1, layer->count);
		add(layer, "mixer.A_log", VT_ROLE_OTHER, style->mixer_heads, 1, layer->count);
		if (s->mixer == VT_MIXER_MAMBA2)
			add(layer, "mixer.D", VT_ROLE_OTHER, style->mixer_heads, 1, layer->count);
		add_norms(layer, "mixer.norm", style->mixer_norm, layer->count);
	}
	add_linear(layer, "mixer.out_proj", s->hidden, s->inner, 0);
}

/* Blocks of attention and mlp that several layers use, and what each of these has of its own. */
static void add_shared(const struct layer *layers, const struct vt_stack *s)
{
	const struct vt_tensor_style *style = layers->style;
	struct layer layer = *layers;
	uint64_t rank = style->adapter_rank;

	layer.count = style->shared_blocks;
	add_attention(&layer, s);
	add_mlp(&layer, s);
	add_norms(&layer, "shared.input_layernorm", style->attention_inputs, layer.count);
	add_norms(&layer, "shared.pre_ff_layernorm", s->hidden, layer.count);
	layer.count = style->shared_layers;
	add_linear(&layer, "shared.linear", s->hidden, s->hidden, 0);
	add_linear(&layer, "shared.mlp.adapter.0", rank, s->hidden, 0);
	add_linear(&layer, "shared.mlp.adapter.1", 2 * s->ffn, rank, 0);
	if (!style->has_attention_adapters)
		return;
	layer.count *= 3; /* of queries, keys and values */
	add_linear(&layer, "shared.self_attn.adapter.0", rank, style->attention_inputs, 0);
	add_linear(&layer, "shared.self_attn.adapter.1", s->heads * s->head_dim, rank, 0);
}

/* Attention, mlp and norms of all layers of a stack. */
static void add_layers(struct vt_architecture *model, const struct vt_tensor_style *style,
		       enum vt_part part)
{
	const struct vt_stack *s = &model->stacks[part];
	uint64_t dense = s->experts ? s->dense_layers : s->mlp_layers;
	struct layer layer = { model, style, part, s->layers };

	add_norms(&layer, "layernorm", s->hidden, s->layers * s->norms);
	layer.count = s->attention_layers - style->shared_layers;
	add_attention(&layer, s);
	layer.count = s->mixer_layers;
	add_mixer(&layer, s);
	if (style->shared_layers)
		add_shared(&layer, s);
	layer.count = dense - style->shared_layers;
	if (layer.count)
		add_mlp(&layer, s);
	layer.count = s->mlp_layers - dense;
	if (layer.count)
		add_experts(&layer, s);
}

static void add_head(const struct layer *outside, const struct vt_stack *s, uint64_t width)
{
	if (!outside->model->is_tied)
		add(outside, "lm_head", VT_ROLE_HEAD, s->vocabulary, width, 1);
	if (outside->style->has_bias[VT_BIAS_HEAD])
		add(outside, "lm_head.bias", VT_ROLE_BIAS, s->vocabulary, 1, 1);
}

/* One vector of a sequence, and what it is classified as. */
static void add_pooler(const struct layer *outside, const struct vt_stack *s)
{
	if (outside->style->has_pooler) {
		add(outside, "pooler", VT_ROLE_LINEAR, s->hidden, s->hidden, 1);
		add(outside, "pooler.bias", VT_ROLE_BIAS, s->hidden, 1, 1);
	}
	add(outside, "classifier", VT_ROLE_LINEAR, outside->style->labels, s->hidden, 1);
	add(outside, "classifier.bias", VT_ROLE_BIAS, outside->style->labels, 1, 1);
}

void vt_tensors_decoder(struct vt_architecture *model, const struct vt_tensor_style *style)
{
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	const struct layer outside = { model, style, VT_PART_TEXT, 0 };

	add(&outside, "embed_tokens", VT_ROLE_EMBEDDING, s->vocabulary, s->hidden, 1);
	add(&outside, "embed_positions", VT_ROLE_EMBEDDING, s->positions, s->hidden, 1);
	if (style->has_embedding_norm)
		add_norms(&outside, "embed_norm", s->hidden, 1);
	add_layers(model, style, VT_PART_TEXT);
	add_norms(&outside, "norm", s->hidden, 1);
	if (!s->has_no_head)
		add_head(&outside, s, s->hidden);
	add(&outside, "score", VT_ROLE_LINEAR, style->labels, s->hidden, 1);
}

void vt_tensors_encoder(struct vt_architecture *model, const struct vt_tensor_style *style)
{
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	const struct layer outside = { model, style, VT_PART_TEXT, 0 };

	add(&outside, "embed_tokens", VT_ROLE_EMBEDDING, s->vocabulary, s->embedding, 1);
	add(&outside, "embed_positions", VT_ROLE_EMBEDDING, s->positions, s->embedding, 1);
	add(&outside, "embed_segments", VT_ROLE_EMBEDDING, style->segments, s->embedding, 1);
	add_norms(&outside, "embeddings.norm", s->embedding, 1);
	if (s->embedding != s->hidden) {
		add(&outside, "embeddings_project", VT_ROLE_LINEAR, s->hidden, s->embedding, 1);
		add(&outside, "embeddings_project.bias", VT_ROLE_BIAS, s->hidden, 1, 1);
	}
	add_layers(model, style, VT_PART_TEXT);
	if (s->has_masked_head) {
		add(&outside, "head.transform", VT_ROLE_LINEAR, s->embedding, s->hidden, 1);
		add(&outside, "head.transform.bias", VT_ROLE_BIAS, s->embedding, 1, 1);
		add_norms(&outside, "head.norm", s->embedding, 1);
		add_head(&outside, s, s->embedding);
		add(&outside, "head.bias", VT_ROLE_BIAS, s->vocabulary, 1, 1);
	}
	add_pooler(&outside, s);
}

void vt_tensors_encoder_decoder(struct vt_architecture *model, const struct vt_tensor_style *style)
{
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	const struct vt_stack *encoder = &model->stacks[VT_PART_ENCODER];
	const struct layer outside = { model, style, VT_PART_TEXT, 0 };
	const struct layer cross = { model, style, VT_PART_TEXT, s->layers };
	uint64_t stacks = encoder->layers ? 2 : 1;

	add(&outside, "shared", VT_ROLE_EMBEDDING, s->vocabulary, s->hidden, 1);
	add(&outside, "encoder.embed_positions", VT_ROLE_EMBEDDING, style->encoder_positions,
	    s->hidden, 1);
	add(&outside, "decoder.embed_positions", VT_ROLE_EMBEDDING, s->positions, s->hidden, 1);
	if (style->sound) {
		add(&outside, "conv1", VT_ROLE_OTHER, s->hidden, 3 * style->sound, 1);
		add(&outside, "conv2", VT_ROLE_OTHER, s->hidden, 3 * s->hidden, 1);
		add(&outside, "conv.bias", VT_ROLE_BIAS, s->hidden, 1, 2);
	}
	if (style->has_embedding_norm)
		add_norms(&outside, "layernorm_embedding", s->hidden, stacks);
	add_layers(model, style, VT_PART_ENCODER);
	add_layers(model, style, VT_PART_TEXT);
	add_attention(&cross, s);
	/* One table of relative positions and one last norm in each of the two stacks. */
	add(&outside, "relative_attention_bias", VT_ROLE_EMBEDDING, style->relative_buckets,
	    s->heads, stacks);
	if (!style->has_no_last_norm)
		add_norms(&outside, "final_layer_norm", s->hidden, stacks);
	add_head(&outside, s, s->hidden);
}

static void add_attention_head(const struct layer *outside, const struct vt_stack *s)
{
	add(outside, "head.probe", VT_ROLE_OTHER, 1, s->hidden, 1);
	add(outside, "head.attention.in_proj", VT_ROLE_LINEAR, 3 * s->hidden, s->hidden, 1);
	add(outside, "head.attention.in_proj.bias", VT_ROLE_BIAS, 3 * s->hidden, 1, 1);
	add(outside, "head.attention.out_proj", VT_ROLE_LINEAR, s->hidden, s->hidden, 1);
	add(outside, "head.attention.out_proj.bias", VT_ROLE_BIAS, s->hidden, 1, 1);
	add_norms(outside, "head.layernorm", s->hidden, 1);
	add(outside, "head.mlp.fc1", VT_ROLE_LINEAR, s->ffn, s->hidden, 1);
	add(outside, "head.mlp.fc1.bias", VT_ROLE_BIAS, s->ffn, 1, 1);
	add(outside, "head.mlp.fc2", VT_ROLE_LINEAR, s->hidden, s->ffn, 1);
	add(outside, "head.mlp.fc2.bias", VT_ROLE_BIAS, s->hidden, 1, 1);
}

void vt_tensors_vision(struct vt_architecture *model, const struct vt_tensor_style *style)
{
	const struct vt_stack *s = &model->stacks[VT_PART_VISION];
	const struct layer outside = { model, style, VT_PART_VISION, 0 };

	add(&outside, "patch_embedding", VT_ROLE_OTHER, s->hidden,
	    style->channels * style->patch * style->patch, 1);
	if (style->has_patch_bias)
		add(&outside, "patch_embedding.bias", VT_ROLE_BIAS, s->hidden, 1, 1);
	add(&outside, "class_embedding", VT_ROLE_OTHER, s->hidden, 1, style->class_tokens);
	add(&outside, "position_embedding", VT_ROLE_EMBEDDING, s->tokens, s->hidden, 1);
	if (style->has_pre_norm)
		add_norms(&outside, "pre_layrnorm", s->hidden, 1);
	add_layers(model, style, VT_PART_VISION);
	add_norms(&outside, "post_layernorm", s->hidden, 1);
	if (style->has_attention_head)
		add_attention_head(&outside, s);
	add_pooler(&outside, s);
}
