/* SPDX-License-Identifier: MIT */
/*
 * What the layers of the text part keep for backward, piece by piece, and what one layer needs for
 * a moment.  The pieces are those of Hugging Face's modules in PyTorch, bytes per token and layer.
 */
#include <stdio.h>

#include "analyzer/planner/terms.h"

static int is_training_layers(const struct vt_plan *plan)
{
	return vt_plan_is_training(plan) && plan->model->stacks[VT_PART_TEXT].hidden;
}

/* A frozen linear layer keeps no input, a frozen norm not what its weight is multiplied with. */
static int is_frozen(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_FREEZE) == VT_FREEZE_ALL_BUT_PROJECTOR ||
	       vt_plan_setting(plan, VT_SET_LORA);
}

int vt_terms_is_eager(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_ATTENTION) == VT_ATTENTION_EAGER ||
	       plan->model->stacks[VT_PART_TEXT].has_scores_cap;
}

static const char *over(const struct vt_plan *plan, int is_shared)
{
	return vt_plan_setting(plan, VT_SET_TENSOR) > 1 && is_shared ? "/t" : "";
}

/* Sequence parallelism shares what tensor parallelism leaves whole (arXiv 2205.05198). */
static const char *over_sequence(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_SEQUENCE) ? "/t" : "";
}

/*
 * `layers` layers keep that many bytes per token.  `is_recomputed`: one layer's worth at a time.
 */
static void add_piece(struct vt_plan *plan, const char *owner, const char *layers,
		      const char *bytes, const char *why, int is_recomputed)
{
	const unsigned one = VT_IN(FIRST_LAYER) | VT_IN(BACKWARD_BOTTOM) |
			     (is_recomputed ? VT_IN(BACKWARD_TOP) : 0);
	const struct vt_term_spec single = { owner, one, NULL, NULL, why };
	const struct vt_term_spec whole = { owner, VT_IN_WHOLE, NULL, NULL, why };

	vt_plan_add(plan, &single, "min(%s,1)*T*(%s)", layers, bytes);
	if (!is_recomputed)
		vt_plan_add(plan, &whole, "%s*T*(%s)", layers, bytes);
}

/* What one norm keeps per token, its output aside. */
static const char *norm_bytes(const struct vt_plan *plan)
{
	enum vt_norm_kind norm = plan->model->stacks[VT_PART_TEXT].norm;

	if (norm == VT_NORM_LAYER)
		return "r*h+8";
	if (is_frozen(plan))
		return "4*h+4";
	return norm == VT_NORM_RMS_FP32 ? "4*h+4*h+4" : "4*h+r*h+4";
}

/* Autocast casts a norm's output for every linear layer behind it, each time anew. */
static void add_casts(struct vt_plan *plan, int is_recomputed)
{
	int is_gated = plan->model->stacks[VT_PART_TEXT].mlp == VT_MLP_GATED;

	if (!vt_plan_setting(plan, VT_SET_AUTOCAST) || is_frozen(plan))
		return;
	add_piece(plan, "activations/attention", "L", "3*e*h",
		  "autocast's copies of the input, one each for q, k and v", is_recomputed);
	add_piece(plan, "activations/mlp", "L", is_gated ? "2*e*h" : "e*h",
		  "autocast's copies of the mlp's input", is_recomputed);
}

static void add_norms(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const char *after = "e*h";
	char bytes[160];

	if (is_frozen(plan) || vt_plan_setting(plan, VT_SET_AUTOCAST))
		after = "0";
	/* The norms behind attention and mlp feed a sum, which keeps nothing. */
	snprintf(bytes, sizeof(bytes), "(norms*(%s)%s+min(norms,2)*%s)%s", norm_bytes(plan),
		 s->has_shared_norm_input ? "-r*h" : "", after, over_sequence(plan));
	add_piece(plan, "activations/norm", "L", bytes,
		  s->norm == VT_NORM_LAYER ?
			  "LayerNorm keeps its input, mean and deviation; linear layers theirs" :
			  "RMSNorm in fp32 keeps x, x normalised, 1/rms; linear layers theirs",
		  is_recomputed);
	add_casts(plan, is_recomputed);
	if (!s->has_qk_norm)
		return;
	snprintf(bytes, sizeof(bytes), "((a+k)*(4*d+%s*d+4))%s",
		 s->norm == VT_NORM_RMS_FP32 ? "4" : "r", over(plan, 1));
	add_piece(plan, "activations/norm", "L", bytes, "norms of queries and keys",
		  is_recomputed);
}

static void add_eager_attention(struct vt_plan *plan, int is_recomputed)
{
	const char *scores = vt_plan_symbol(plan, "e") == 4 ? "4" : "(4+e)";
	int is_capped = plan->model->stacks[VT_PART_TEXT].has_scores_cap;
	char bytes[96];

	snprintf(bytes, sizeof(bytes), "(a*s*(%s%s))%s", scores, is_capped ? "+e" : "",
		 over(plan, 1));
	add_piece(plan, "activations/attention", "L", bytes,
		  is_capped ? "eager attention keeps the tanh of s*s scores, their softmax in "
			      "fp32 and its cast" :
			      "eager attention keeps the softmax of s*s scores in fp32 and its "
			      "cast",
		  is_recomputed ||
			  vt_plan_setting(plan, VT_SET_CHECKPOINTING) ==
				  VT_CHECKPOINTING_SELECTIVE);
}

/* SDPA has no kernel for fp32 with fewer keys than queries: it computes as eager attention does. */
static int is_math(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];

	return vt_plan_setting(plan, VT_SET_ATTENTION) == VT_ATTENTION_SDPA &&
	       vt_plan_symbol(plan, "e") == 4 && s->kv_heads < s->heads;
}

/* Beside queries, keys, values and output: what is made of latents, and their norms. */
static void add_latents(struct vt_plan *plan, int is_recomputed)
{
	char bytes[128];

	snprintf(bytes, sizeof(bytes), "(e*(a*(d-rope)+a*dv))%s + e*(rank+rope)", over(plan, 1));
	add_piece(plan, "activations/attention", "L", bytes,
		  "keys beside the values they came with, the output once more (its layout is "
		  "copied), the latents",
		  is_recomputed);
	add_piece(plan, "activations/norm", "L", "(rank+qrank)*(4+r+e)+4+min(qrank,4)",
		  "norms of the latents", is_recomputed);
}

static void add_attention(struct vt_plan *plan, int is_recomputed)
{
	int has_scores = vt_terms_is_eager(plan);
	int is_masked = has_scores || vt_plan_setting(plan, VT_SET_MASK);
	int is_repeated = is_masked || is_math(plan) || vt_plan_setting(plan, VT_SET_REPEAT_KV);
	const struct vt_term_spec mask = { "activations/mask", VT_IN_TRAINING, NULL, NULL,
					   "the mask of padding and causality" };
	char bytes[160];

	snprintf(bytes, sizeof(bytes), "(e*(a*d+a*dv+%s*d+%s*dv)%s)%s", is_repeated ? "a" : "k",
		 is_repeated ? "a" : "k", has_scores ? "" : "+4*a", over(plan, 1));
	add_piece(plan, "activations/attention", "L", bytes,
		  is_repeated ? "q, the output, and k and v repeated to every head" :
				"q, k, v, the output and the logarithms of sums; flash kernel",
		  is_recomputed);
	if (has_scores || is_math(plan))
		add_eager_attention(plan, is_recomputed);
	if (plan->model->stacks[VT_PART_TEXT].has_fused_qkv && !is_recomputed)
		add_piece(plan, "activations/attention", "L", "e*(k*d+k*dv)",
			  "the cache's copies of keys and values, beside the tensor that they were "
			  "cut from (use_cache is on in training, too)", 0);
	if (plan->model->stacks[VT_PART_TEXT].has_partial_rotary && !has_scores)
		add_piece(plan, "activations/attention", "L", "e*a*dv",
			  "the output once more: joined queries give it a layout that is copied",
			  is_recomputed);
	/* A window shorter than the sequence is a mask, which no kernel with groups takes. */
	if (!is_repeated && vt_plan_symbol(plan, "window") < vt_plan_symbol(plan, "s"))
		add_piece(plan, "activations/attention", "Lwindow", "e*((a-k)*d+(a-k)*dv)",
			  "keys and values repeated to every head where the window needs a mask",
			  is_recomputed);
	if (is_masked)
		vt_plan_add(plan, &mask, has_scores ? "b*s*s*e" : "b*s*s");
	if (plan->model->stacks[VT_PART_TEXT].kv_rank)
		add_latents(plan, is_recomputed);
}

static const char *mlp_why(const struct vt_stack *s)
{
	if (s->mlp == VT_MLP_GATED)
		return "gate, its activation, up and their product";
	return s->has_stepwise_gelu ? "gelu_new: its input, three steps and its output" :
				      "the input and the output of the activation";
}

/* A byte per element behind attention and behind mlp. */
static void add_dropout(struct vt_plan *plan, int is_recomputed)
{
	static const char *const owners[] = { "activations/attention", "activations/mlp" };
	const char *bytes = vt_plan_setting(plan, VT_SET_SEQUENCE) ? "h/t" : "h";

	for (size_t i = 0; plan->model->stacks[VT_PART_TEXT].has_dropout && i < 2; i++)
		add_piece(plan, owners[i], "L", bytes, "the mask of the dropout behind it",
			  is_recomputed);
}

/* While one layer goes backward, its own mlp's have gone. */
static void add_mlp_until_its_bias(struct vt_plan *plan, const char *bytes, int is_recomputed)
{
	const char *why = mlp_why(&plan->model->stacks[VT_PART_TEXT]);
	const struct vt_term_spec single = { "activations/mlp", VT_IN(FIRST_LAYER), NULL, NULL,
					     why };
	const struct vt_term_spec whole = { "activations/mlp",
		VT_IN_WHOLE & ~VT_IN(BACKWARD_TOP), NULL, NULL, why };
	const struct vt_term_spec others = { "activations/mlp", VT_IN(BACKWARD_TOP), NULL, NULL,
		"of all layers but the last, whose mlp has gone by then" };

	vt_plan_add(plan, &single, "min(Ldense,1)*T*(%s)", bytes);
	if (is_recomputed)
		return;
	vt_plan_add(plan, &whole, "Ldense*T*(%s)", bytes);
	vt_plan_add(plan, &others, "(Ldense-min(Ldense,1))*T*(%s)", bytes);
}

static void add_mlp(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	int is_kept = !is_frozen(plan);
	int inner = s->mlp == VT_MLP_GATED ? 3 : s->has_stepwise_gelu ? 4 : 1;
	char bytes[128];

	snprintf(bytes, sizeof(bytes), "(%d*i*e)%s", inner + is_kept, over(plan, 1));
	if (vt_terms_is_bias_widest(plan))
		add_mlp_until_its_bias(plan, bytes, is_recomputed);
	else
		add_piece(plan, "activations/mlp", "Ldense", bytes, mlp_why(s), is_recomputed);
	snprintf(bytes, sizeof(bytes), "((4*ie*chosen+4*is)*e)%s+2*chosen*h*e+experts*4%s",
		 over(plan, 1), s->has_fp32_router ? "+4*h" : "");
	add_piece(plan, "activations/mlp", "Lmoe", bytes,
		  "every chosen expert as an mlp, its copy of the input and its output; the router",
		  is_recomputed);
}

/* Of `count` linear layers with so many inputs together. */
static void add_adapters_of(struct vt_plan *plan, const char *owner, const char *inputs, int count,
			    int is_recomputed)
{
	char bytes[160];

	snprintf(bytes, sizeof(bytes), "4*(%s) + 4*lora*%d", inputs, count);
	add_piece(plan, owner, "L", bytes,
		  "each adapter keeps its input in fp32 (PEFT) and what its first half gives",
		  is_recomputed);
	if (!vt_plan_setting(plan, VT_SET_LORA_DROPOUT))
		return;
	snprintf(bytes, sizeof(bytes), "5*(%s)", inputs);
	add_piece(plan, owner, "L", bytes,
		  "dropout: a mask and the scaled copy of each adapter's input", is_recomputed);
}

static void add_adapters(struct vt_plan *plan, int is_recomputed)
{
	int is_everywhere = vt_plan_setting(plan, VT_SET_LORA_TARGETS) == VT_TARGETS_LINEAR;
	int is_gated = plan->model->stacks[VT_PART_TEXT].mlp == VT_MLP_GATED;

	if (!vt_plan_setting(plan, VT_SET_LORA))
		return;
	add_adapters_of(plan, "activations/attention", "3*h+a*dv", 4, is_recomputed);
	if (is_everywhere)
		add_adapters_of(plan, "activations/mlp", is_gated ? "2*h+i" : "h+i",
				is_gated ? 3 : 2, is_recomputed);
}

static void add_state_space(struct vt_plan *plan, int is_recomputed)
{
	if (!plan->model->stacks[VT_PART_TEXT].inner)
		return;
	add_piece(plan, "activations/mixer", "L", "e*(2*inner+4*inner)+4*inner",
		  "projections, convolution, step sizes and the gate of a fused scan",
		  is_recomputed);
	if (vt_plan_setting(plan, VT_SET_SCAN) == VT_SCAN_SEQUENTIAL)
		add_piece(plan, "activations/mixer", "L",
			  "(4+4+4+e)*inner*states+4*inner+3*e*inner",
			  "token by token: decay, input and state of every token in fp32, the "
			  "state's cast, the input in fp32, its copy in another layout, and what "
			  "the scan and the gate give",
			  is_recomputed);
}

/*
 * T5 and its like: a stack of encoder layers over as many tokens, and in every decoder layer a
 * second attention.  Norms multiply the residual stream as it is, which therefore stays, too; the
 * bias of positions is a tensor of heads and scores' size in every layer of the decoder.
 */
static void add_encoder(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const char *mask = s->has_dropout ? "+h" : "";
	const char *mlp_mask = s->has_dropout ? "+i" : "";
	char bytes[128];

	if (!plan->model->stacks[VT_PART_ENCODER].layers)
		return;
	add_piece(plan, "activations/norm", "Lenc", "2*(4*h+r*h+4+e*h)+r*h",
		  "the encoder's norms, and the stream behind its mlp", is_recomputed);
	snprintf(bytes, sizeof(bytes), "e*4*a*d+4*a+r*h%s", mask);
	add_piece(plan, "activations/attention", "Lenc", bytes,
		  "the encoder's q, k, v, output, and the stream behind it", is_recomputed);
	add_piece(plan, "activations/attention", "L", bytes,
		  "the decoder's attention to the encoder", is_recomputed);
	add_piece(plan, "activations/attention", "L", "r*h+2*a*s*e/b",
		  "the stream behind attention; the bias of positions", is_recomputed);
	snprintf(bytes, sizeof(bytes), "2*i*e%s%s", mlp_mask, mask);
	add_piece(plan, "activations/mlp", "Lenc", bytes, mlp_why(s), is_recomputed);
	snprintf(bytes, sizeof(bytes), "0%s", mlp_mask);
	add_piece(plan, "activations/mlp", "L", bytes, "the mask of the dropout inside of it",
		  is_recomputed);
	add_piece(plan, "activations/norm", "L", "e*h+r*h",
		  "the third norm's output, and the stream behind the mlp", is_recomputed);
	add_piece(plan, "activations/norm", "1", "4*h+r*h+4+2*e*h+h",
		  "the encoder's last norm, and dropout behind it", is_recomputed);
}

static void add_training(struct vt_plan *plan)
{
	const struct vt_term_spec inputs = { "activations/checkpoint", VT_IN_WHOLE, NULL, NULL,
		"the input of every checkpointed layer" };
	const struct vt_term_spec last = { "activations/norm",
		VT_IN(FORWARD) | VT_IN(LOSS) | VT_IN(BACKWARD_LOSS), NULL, NULL,
		"the input of the head" };
	const struct vt_term_spec norm = { "activations/norm",
		VT_IN(FORWARD) | VT_IN(LOSS) | VT_IN(BACKWARD_LOSS) | VT_IN(BACKWARD_NORM), NULL,
		NULL, "the last norm" };
	const struct vt_term_spec stream = { "activations/residual",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), NULL, NULL, "the residual stream itself" };
	const struct vt_term_spec embedding = { "activations/embedding", VT_IN_WHOLE, NULL, NULL,
		"dropout behind the embeddings of each stack: its mask and what it gives" };
	int is_recomputed = vt_plan_setting(plan, VT_SET_CHECKPOINTING) == VT_CHECKPOINTING_FULL;

	if (plan->model->stacks[VT_PART_TEXT].has_dropout)
		vt_plan_add(plan, &embedding, "(1+min(Lenc,1))*T*(h+e*h)");
	vt_plan_add(plan, &stream, "T*h*r%s", over_sequence(plan));
	add_norms(plan, is_recomputed);
	if (plan->model->stacks[VT_PART_TEXT].has_attention) {
		add_attention(plan, is_recomputed);
		add_mlp(plan, is_recomputed);
		add_dropout(plan, is_recomputed);
	}
	add_state_space(plan, is_recomputed);
	add_encoder(plan, is_recomputed);
	add_adapters(plan, is_recomputed);
	if (is_recomputed)
		vt_plan_add(plan, &inputs, "L*T*h*r%s", over_sequence(plan));
	vt_plan_add(plan, &norm, "T*(%s)%s", norm_bytes(plan), over_sequence(plan));
	vt_plan_add(plan, &last, "T*e*h%s", over_sequence(plan));
}

/* What a caller of an interpretability library keeps of a forward. */
static void add_kept(struct vt_plan *plan)
{
	const struct vt_term_spec residual = { "activations/residual",
		VT_IN(FORWARD) | VT_IN(LOGITS), NULL, NULL,
		"kept: the residual stream before the first layer and behind each" };
	const struct vt_term_spec all = { "activations/attention", VT_IN(FORWARD) | VT_IN(LOGITS),
		NULL, NULL, "kept: every hook of TransformerLens, scores and patterns among them" };
	int64_t keep = vt_plan_setting(plan, VT_SET_KEEP);

	if (keep == VT_KEEP_RESIDUAL)
		vt_plan_add(plan, &residual, "(L+1)*T*h*e");
	else if (keep == VT_KEEP_ALL)
		vt_plan_add(plan, &all, "L*T*e*(7*h+2*a*d+a*dv+2*k*d+k*dv+3*i+2*a*s+2)");
}

static void add_inference(struct vt_plan *plan)
{
	const struct vt_term_spec layer = { "activations/mlp",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), NULL, NULL,
		"one layer at a time: the mlp, or a norm in fp32" };
	const struct vt_term_spec stream = { "activations/residual",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), NULL, NULL,
		"the layer's input, its residual and what the norm gives" };
	const struct vt_term_spec embedding = { "activations/embedding",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), NULL, NULL,
		"the embeddings, which the model's own variable holds to the end" };
	const struct vt_term_spec scores = { "activations/attention",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), NULL, NULL,
		"the widest of one layer: eager attention's scores, their copy in fp32 and its "
		"softmax beside q, k, v; or the mlp, or a norm" };
	const struct vt_term_spec last = { "activations/residual", VT_IN(LOGITS), NULL, NULL,
		"the last hidden states, the head's input" };
	const struct vt_term_spec mask = { "activations/mask", VT_IN(FORWARD), NULL, NULL,
		"the mask of padding, of a window, of what a static cache has not filled, or of "
		"eager attention" };
	const struct vt_term_spec step = { "activations/mlp", VT_IN(DECODE), NULL, NULL,
					   "one layer of one token per sequence" };
	int is_gated = plan->model->stacks[VT_PART_TEXT].mlp == VT_MLP_GATED;
	int wide = is_gated ? 3 : 2;
	/* Copies of the input, what experts gave, and that weighted and put back in order. */
	const char *experts = plan->model->stacks[VT_PART_TEXT].has_fp32_experts ?
				      "chosen*max(h*(2*e+2*4), 3*ie*e)" :
				      "chosen*max(h*(2*e+2*e), 3*ie*e)";

	vt_plan_add(plan, &embedding, "T*h*e");
	vt_plan_add(plan, &stream, "3*T*h*e");
	if (vt_terms_is_eager(plan))
		vt_plan_add(plan, &scores,
			    "T*max(max(max((%d*e*max(i,inner))%s, %s), 8*h-e*h), "
			    "(a*s*%s+3*a*d*e)%s)",
			    wide, over(plan, 1), experts,
			    /* Only fp16 is read by the softmax in fp32 as it is. */
			    vt_plan_symbol(plan, "e") == 4 ? "(4+4)" : "(e+4+4)", over(plan, 1));
	else
		vt_plan_add(plan, &layer, "T*max(max((%d*e*max(i,inner))%s, %s), 8*h-e*h)", wide,
			    over(plan, 1), experts);
	vt_plan_add(plan, &last, "T*h*e");
	if (vt_terms_is_eager(plan))
		vt_plan_add(plan, &mask, "b*s*s*e");
	else if (vt_plan_setting(plan, VT_SET_KV_CACHE) == VT_KV_STATIC &&
		 vt_plan_setting(plan, VT_SET_NEW_TOKENS))
		vt_plan_add(plan, &mask, "b*s*(s+n)");
	else if (vt_plan_setting(plan, VT_SET_MASK) ||
		 (vt_plan_symbol(plan, "Lwindow") &&
		  vt_plan_symbol(plan, "window") < vt_plan_symbol(plan, "s")))
		vt_plan_add(plan, &mask, "b*s*s");
	vt_plan_add(plan, &step, "b*e*(%d*max(max(i,ie*chosen),inner)+2*h)", wide);
	add_kept(plan);
}

void vt_terms_activations(struct vt_plan *plan)
{
	if (is_training_layers(plan))
		add_training(plan);
	else if (!vt_plan_is_training(plan) && plan->model->stacks[VT_PART_TEXT].hidden)
		add_inference(plan);
}
