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

/* Sequence parallelism shares what tensor parallelism leaves whole (arXiv 2205.05198). */
static const char *over_sequence(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_SEQUENCE) ? "/t" : "";
}

/* What one norm keeps per token, its output aside. */
static const char *norm_bytes(const struct vt_plan *plan)
{
	enum vt_norm_kind norm = plan->model->stacks[VT_PART_TEXT].norm;

	if (norm == VT_NORM_LAYER)
		return "r*h+8";
	if (norm == VT_NORM_LAYER_FP32)
		return vt_terms_is_frozen(plan) ? "2*4*h+4" : "3*4*h+4";
	if (vt_terms_is_frozen(plan))
		return "4*h+4";
	return norm == VT_NORM_RMS_FP32 ? "4*h+4*h+4" : "4*h+r*h+4";
}

static const char *norm_why(enum vt_norm_kind norm)
{
	switch (norm) {
	case VT_NORM_LAYER:
		return "LayerNorm keeps its input, mean and deviation; linear layers theirs";
	case VT_NORM_LAYER_FP32:
		return "LayerNorm written out in fp32 keeps x - mean twice, that normalised, "
		       "1/deviation; linear layers theirs";
	default:
		return "RMSNorm in fp32 keeps x, x normalised, 1/rms; linear layers theirs";
	}
}

/* Autocast casts a norm's output for every linear layer behind it, each time anew. */
static void add_casts(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	int nr_inner = s->mlp == VT_MLP_GATED && !s->has_joined_gate ? 2 : 1;

	if (!vt_plan_setting(plan, VT_SET_AUTOCAST) || vt_terms_is_frozen(plan))
		return;
	if (s->has_one_qkv_product)
		vt_terms_add_piece(plan, "activations/attention", "L", "e*h",
			  "autocast's copy of the input of the one product for q, k and v",
			  is_recomputed);
	else
		vt_terms_add_piece(plan, "activations/attention", "L", "3*e*h",
			  "autocast's copies of the input, one each for q, k and v", is_recomputed);
	vt_terms_add_piece(plan, "activations/mlp", "L", nr_inner == 2 ? "2*e*h" : "e*h",
		  "autocast's copies of the mlp's input", is_recomputed);
}

/* The last one of all has gone when its layer's mlp goes backward. */
static void add_norms_behind(struct vt_plan *plan, int is_recomputed)
{
	static const char why[] = "LayerNorm after the mlp: the sum before it, its output";
	/* Frozen linear layers do not need what they are given. */
	const char *given = vt_terms_is_frozen(plan) ? "0" : "e*h";
	const struct vt_term_spec single = { "activations/norm", VT_IN(FIRST_LAYER),
		VT_PLAYED_STAGED, NULL, NULL, why };
	const struct vt_term_spec whole = { "activations/norm", VT_IN_WHOLE & ~VT_IN(BACKWARD_TOP),
		VT_PLAYED_KEPT, NULL, NULL, why };
	const struct vt_term_spec others = { "activations/norm", VT_IN(BACKWARD_TOP),
		VT_PLAYED_PASSED_OVER, NULL, NULL,
		"LayerNorm after the mlp, of all layers but the last" };

	vt_terms_add_piece(plan, "activations/norm", "L", vt_terms_is_frozen(plan) ? "8" : "8+e*h",
			   "LayerNorm after attention: its output, which the mlp needs",
			   is_recomputed);
	vt_terms_add_piece(plan,
			   plan->model->stacks[VT_PART_TEXT].is_sum_of_attention ?
				   "activations/attention" :
				   "activations/norm",
			   "L", "r*h", "the sum after attention, which a norm keeps",
			   is_recomputed);
	add_casts(plan, is_recomputed);
	vt_plan_add(plan, &single, "T*(r*h+8+%s)", given);
	if (is_recomputed && !vt_terms_is_partial(plan))
		return;
	vt_plan_add(plan, &whole, "%s*T*(r*h+8+%s)", is_recomputed ? "(L-ck)" : "L", given);
	vt_plan_add(plan, &others, "(L-%s1)*T*(r*h+8+%s)", is_recomputed ? "ck-" : "", given);
}

/* Of a layer's two LayerNorms, what they keep is named after who made it. */
static const char *add_sums(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];

	if (s->is_sum_of_attention)
		vt_terms_add_piece(plan, "activations/attention", "L", "r*h",
				   "the stream after attention, which a norm keeps",
				   is_recomputed);
	if (s->is_sum_of_mlp)
		vt_terms_add_piece(plan, "activations/mlp", "L", "r*h",
				   "the stream after the mlp, which a norm keeps", is_recomputed);
	return s->is_sum_of_attention && s->is_sum_of_mlp ? "-2*r*h" :
	       s->is_sum_of_attention || s->is_sum_of_mlp ? "-r*h" :
							    "";
}

static void add_norms(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const char *after = "e*h";
	char bytes[160];

	if (s->has_norms_behind) {
		add_norms_behind(plan, is_recomputed);
		return;
	}
	if (vt_terms_is_frozen(plan) || vt_plan_setting(plan, VT_SET_AUTOCAST))
		after = "0";
	/* The norms behind attention and mlp feed a sum, which keeps nothing. */
	snprintf(bytes, sizeof(bytes), "(norms*(%s)%s%s+min(norms,2)*%s)%s", norm_bytes(plan),
		 s->has_shared_norm_input ? "-r*h" : "", add_sums(plan, is_recomputed), after,
		 over_sequence(plan));
	vt_terms_add_piece(plan, "activations/norm", "L", bytes, norm_why(s->norm), is_recomputed);
	add_casts(plan, is_recomputed);
	if (!s->has_qk_norm)
		return;
	snprintf(bytes, sizeof(bytes), "((a+k)*(4*d+%s*d+4))%s",
		 s->norm == VT_NORM_RMS_FP32 ? "4" : "r", vt_terms_over(plan));
	vt_terms_add_piece(plan, "activations/norm", vt_terms_attentions(plan), bytes,
			   "norms of queries and keys", is_recomputed);
}

static const char *mlp_why(const struct vt_stack *s)
{
	if (s->mlp == VT_MLP_GATED)
		return s->activation_steps > 1 ?
			       "gate, what its activation is made of, that, up and their product" :
			       "gate, its activation, up and their product";
	if (!s->activation_steps)
		return "the output of the activation, which is all that it needs";
	return s->activation_steps > 1 ?
		       "the activation's input, what it is made of step by step, and its output" :
		       "the input and the output of the activation";
}

/* A byte per element behind attention and behind mlp. */
static void add_dropout(struct vt_plan *plan, int is_recomputed)
{
	static const char *const owners[] = { "activations/attention", "activations/mlp" };
	const char *bytes = vt_plan_setting(plan, VT_SET_SEQUENCE) ? "h/t" : "h";

	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];

	for (size_t i = s->has_attention_dropout ? 0 : 1; s->has_dropout && i < 2; i++)
		vt_terms_add_piece(plan, owners[i], "L", bytes, "the mask of the dropout after it",
			  is_recomputed);
}

/* While one layer goes backward, its own mlp's have gone. */
static void add_mlp_until_its_bias(struct vt_plan *plan, const char *bytes, int is_recomputed)
{
	const char *why = mlp_why(&plan->model->stacks[VT_PART_TEXT]);
	const struct vt_term_spec single = { "activations/mlp", VT_IN(FIRST_LAYER),
		VT_PLAYED_STAGED, NULL, NULL, why };
	const struct vt_term_spec whole = { "activations/mlp", VT_IN_WHOLE & ~VT_IN(BACKWARD_TOP),
		VT_PLAYED_KEPT, NULL, NULL, why };
	const struct vt_term_spec others = { "activations/mlp", VT_IN(BACKWARD_TOP),
		VT_PLAYED_PASSED_OVER, NULL, NULL,
		"of all layers but the last, whose mlp has gone by then" };

	vt_plan_add(plan, &single, "min(Ldense,1)*T*(%s)", bytes);
	if (is_recomputed && !vt_terms_is_partial(plan))
		return;
	vt_plan_add(plan, &whole, "%s*T*(%s)", is_recomputed ? "max(Ldense-ck,0)" : "Ldense",
		    bytes);
	vt_plan_add(plan, &others, "%s*T*(%s)",
		    is_recomputed ? "max(Ldense-ck-1,0)" : "(Ldense-min(Ldense,1))", bytes);
}

/*
 * Autocast takes powers in fp32, and what is made of one stays so: of the steps of tanh's kind of
 * GELU the input, the tanh and one more than that.
 */
static int fp32_steps(const struct vt_plan *plan, const struct vt_stack *s)
{
	return vt_plan_setting(plan, VT_SET_AUTOCAST) && s->mlp == VT_MLP_PLAIN &&
			       s->activation_steps > 2 ?
		       3 :
		       0;
}

/* ... and of a relu that is squared one copy more. */
static int is_squared_in_fp32(const struct vt_plan *plan, const struct vt_stack *s)
{
	return vt_plan_setting(plan, VT_SET_AUTOCAST) && s->mlp == VT_MLP_PLAIN &&
	       s->activation_steps == 1 && s->activation_widest == 3;
}

static void add_mlp(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	int nr = vt_terms_mlp_tensors(plan, s);
	int in_fp32 = fp32_steps(plan, s);
	char bytes[128];

	if (is_squared_in_fp32(plan, s))
		snprintf(bytes, sizeof(bytes), "(%d*i*e+4*i)%s", nr, vt_terms_over(plan));
	else if (in_fp32)
		snprintf(bytes, sizeof(bytes), "(%d*i*e+%d*4*i)%s", nr - in_fp32, in_fp32,
			 vt_terms_over(plan));
	else
		snprintf(bytes, sizeof(bytes), "(%d*i*e)%s", nr, vt_terms_over(plan));
	if (vt_terms_is_bias_widest(plan))
		add_mlp_until_its_bias(plan, bytes, is_recomputed);
	else
		vt_terms_add_piece(plan, "activations/mlp", "Ldense", bytes, mlp_why(s),
				   is_recomputed);
	snprintf(bytes, sizeof(bytes), "(4*ie*chosen*w+4*is*e)%s+2*chosen*h*w+experts*4%s",
		 vt_terms_over(plan), s->has_fp32_router ? "+4*h" : "");
	vt_terms_add_piece(plan, "activations/mlp", "Lmoe", bytes,
		  "every chosen expert as an mlp, its copy of the input and its output; the router",
		  is_recomputed);
	if (s->has_shared_gate)
		vt_terms_add_piece(plan, "activations/mlp", "Lmoe", "e*h+e",
				   "what shared experts gave, which their gate needs, and the gate",
				   is_recomputed);
}

/* Of `count` linear layers with so many inputs together. */
static void add_adapters_of(struct vt_plan *plan, const char *owner, const char *inputs, int count,
			    int is_recomputed)
{
	char bytes[160];

	snprintf(bytes, sizeof(bytes),
		 vt_plan_setting(plan, VT_SET_AUTOCAST) ? "e*(%s) + e*lora*%d" :
							  "4*(%s) + 4*lora*%d", inputs, count);
	vt_terms_add_piece(plan, owner, "L", bytes,
		  "each adapter keeps its input in fp32 (PEFT; autocast casts that again) and "
		  "what its first half gives",
		  is_recomputed);
	if (!vt_plan_setting(plan, VT_SET_LORA_DROPOUT))
		return;
	snprintf(bytes, sizeof(bytes), "5*(%s)", inputs);
	vt_terms_add_piece(plan, owner, "L", bytes,
		  "dropout: a mask and the scaled copy of each adapter's input", is_recomputed);
}

static void add_adapters(struct vt_plan *plan, int is_recomputed)
{
	int is_everywhere = vt_plan_setting(plan, VT_SET_LORA_TARGETS) == VT_TARGETS_LINEAR;
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	int nr_inner = s->mlp == VT_MLP_GATED && !s->has_joined_gate ? 2 : 1;
	/* What is fp32 already is not copied: those behind one norm keep the same input. */
	int is_shared = vt_plan_symbol(plan, "e") == 4 && !vt_plan_setting(plan, VT_SET_AUTOCAST);

	if (!vt_plan_setting(plan, VT_SET_LORA))
		return;
	add_adapters_of(plan, "activations/attention",
			is_shared || s->has_one_qkv_product ? "h+a*dv" : "3*h+a*dv",
			s->has_one_qkv_product ? 2 : 4, is_recomputed);
	if (is_everywhere)
		add_adapters_of(plan, "activations/mlp",
				nr_inner == 2 && !is_shared ? "2*h+i" : "h+i", nr_inner + 1,
				is_recomputed);
}

/* Between embeddings and layers that are of different widths lies a product. */
static int has_projection(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];

	return s->embedding && s->embedding != s->hidden;
}

/* What stands before the first layer of each stack. */
static void add_embeddings(struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	/* BERT's norm of embeddings is a part of theirs, an encoder-decoder's one of its stack. */
	const struct vt_stack *encoder = &plan->model->stacks[VT_PART_ENCODER];
	const char *embedded = encoder->layers && encoder->norm == VT_NORM_LAYER ?
				       "activations/norm" :
				       "activations/embedding";
	/* In a decoder alone, what it gives is the first norm's input, and counted with that. */
	int is_first_norms = !s->has_norms_behind && !encoder->layers;
	const struct vt_term_spec embedding = { is_first_norms ? "activations/residual" : embedded,
		VT_IN_WHOLE, VT_PLAYED_STAGED, NULL, NULL,
		"dropout after the embeddings of each stack: its mask and what it gives" };
	const struct vt_term_spec normed = { embedded, VT_IN_WHOLE, VT_PLAYED_STAGED, NULL, NULL,
		"the sum of all embeddings, which their norm keeps" };
	const struct vt_term_spec projected = { embedded, VT_IN_WHOLE, VT_PLAYED_STAGED, NULL, NULL,
		"embeddings made as wide as the layers are" };

	/* Nothing before the first adapter has a gradient. */
	if (vt_plan_setting(plan, VT_SET_LORA))
		return;
	if (s->has_embedding_dropout)
		vt_plan_add(plan, &embedding,
			    is_first_norms       ? "T*h" :
			    encoder->layers      ? "(T+Te)*(h+e*h)" :
			    has_projection(plan) ? "T*(he+e*he)" :
						   "T*(h+e*h)");
	if (s->has_norms_behind || s->has_embedding_norm)
		vt_plan_add(plan, &normed,
			    has_projection(plan) ? "T*(r*he+8)" : "T*(r*h+8)");
	if (has_projection(plan))
		vt_plan_add(plan, &projected, "T*e*h");
}

/* The last norm and what stands behind it. */
static void add_head(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_term_spec last = { "activations/norm",
		VT_IN(FORWARD) | VT_IN(LOSS) | VT_IN(BACKWARD_LOSS), VT_PLAYED_STAGED, NULL, NULL,
		"the input of the head" };
	const struct vt_term_spec norm = { "activations/norm",
		VT_IN(FORWARD) | VT_IN(LOSS) | VT_IN(BACKWARD_LOSS) | VT_IN(BACKWARD_NORM),
		VT_PLAYED_STAGED, NULL, NULL, "the last norm" };
	const struct vt_term_spec transform = { "logits", norm.stages, VT_PLAYED_STAGED, NULL, NULL,
		"the layer before the head: the input of its activation" };

	if (has_projection(plan)) {
		vt_plan_add(plan, &norm, "T*(r*he+8)");
		vt_plan_add(plan, &last, "T*e*he");
		vt_plan_add(plan, &transform, "T*e*he");
		return;
	}
	/* Nothing before the first adapter keeps anything: the first norm makes up for the last. */
	if (!vt_plan_setting(plan, VT_SET_LORA) || is_recomputed)
		vt_plan_add(plan, &norm, "T*(%s)%s", norm_bytes(plan), over_sequence(plan));
	if (!vt_terms_is_frozen(plan))
		vt_plan_add(plan, &last, "T*e*h%s", over_sequence(plan));
	if (plan->model->stacks[VT_PART_TEXT].has_masked_head)
		vt_plan_add(plan, &transform, "T*e*h");
}

static void add_training(struct vt_plan *plan)
{
	const struct vt_term_spec inputs = { "activations/checkpoint", VT_IN_WHOLE, VT_PLAYED_KEPT,
		NULL, NULL, "the input of every checkpointed layer" };
	const struct vt_term_spec stream = { "activations/residual",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), VT_PLAYED_PASSING, NULL, NULL,
		"the residual stream itself" };
	int is_recomputed = vt_plan_setting(plan, VT_SET_CHECKPOINTING) == VT_CHECKPOINTING_FULL;

	add_embeddings(plan);
	vt_plan_add(plan, &stream, "T*h*r%s", over_sequence(plan));
	add_norms(plan, is_recomputed);
	if (plan->model->stacks[VT_PART_TEXT].attention_layers) {
		vt_terms_attention(plan, is_recomputed);
		add_mlp(plan, is_recomputed);
		add_dropout(plan, is_recomputed);
	}
	vt_terms_mixer(plan, is_recomputed);
	vt_terms_encoder(plan, is_recomputed);
	add_adapters(plan, is_recomputed);
	if (is_recomputed)
		vt_plan_add(plan, &inputs, "%s*T*h*r%s", vt_terms_is_partial(plan) ? "ck" : "L",
			    over_sequence(plan));
	add_head(plan, is_recomputed);
}

/*
 * What a caller of an interpretability library keeps of a forward: on the device of all tokens, or
 * of one chunk at a time; or each on its way to the host as soon as it is there.
 */
static void add_kept(struct vt_plan *plan)
{
	const struct vt_term_spec residual = { "activations/residual",
		VT_IN(FORWARD) | VT_IN(LOGITS), VT_PLAYED_KEPT, NULL, NULL,
		"kept: the residual stream before the first layer and after each" };
	const struct vt_term_spec all = { "activations/attention", VT_IN(FORWARD) | VT_IN(LOGITS),
		VT_PLAYED_KEPT, NULL, NULL,
		"kept: every hook of TransformerLens, scores and patterns among them" };
	const struct vt_term_spec leaving = { "activations/residual", VT_IN(FORWARD),
		VT_PLAYED_PASSING, NULL, NULL,
		"kept on the host: one residual stream on its way there" };
	const struct vt_term_spec hook = { "activations/attention", VT_IN(FORWARD),
		VT_PLAYED_PASSING, NULL, NULL,
		"kept on the host: the largest hook on its way there" };
	int64_t keep = vt_plan_setting(plan, VT_SET_KEEP);
	int64_t on = vt_plan_setting(plan, VT_SET_KEEP_ON);
	const char *tokens = on == VT_KEEP_ON_DEVICE && vt_plan_setting(plan, VT_SET_CHUNK) ?
				     "Tall" :
				     "T";

	if (keep == VT_KEEP_RESIDUAL && on == VT_KEEP_ON_HOST)
		vt_plan_add(plan, &leaving, "T*h*e");
	else if (keep == VT_KEEP_RESIDUAL)
		vt_plan_add(plan, &residual, "(L+1)*%s*h*e", tokens);
	else if (keep == VT_KEEP_ALL && on == VT_KEEP_ON_HOST)
		vt_plan_add(plan, &hook, "T*e*max(a*s, max(i, h))");
	else if (keep == VT_KEEP_ALL)
		vt_plan_add(plan, &all, "L*%s*e*(7*h+2*a*d+a*dv+2*k*d+k*dv+3*i+2*a*s+2)", tokens);
}

/* Results of the mlp's width that live side by side. */
static int wide_of(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	/* Both halves of one product stay until what they become is there. */
	int gated = s->has_joined_gate ? 4 : 3;
	int behind = s->mlp == VT_MLP_GATED ? gated : 2;

	/* Of an activation that is made of operators more than of what comes behind it. */
	return s->activation_widest > behind ? s->activation_widest : behind;
}

/* Bytes per token where attention computes scores, or turns queries in fp32; buf[size]. */
static int scores_of(const struct vt_plan *plan, char *buf, size_t size)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const char *over = vt_terms_over(plan);

	if (vt_terms_is_math(plan))
		snprintf(buf, size, "(a*s*(4+4+1)+4*(2*a*d+a*dv)+e*a*d)%s", over);
	else if (vt_terms_is_eager(plan) && s->has_fp32_scores)
		/* Of parts that are rotated and joined, what they were parts of stays, too. */
		snprintf(buf, size, "(a*s*(4+4)+%sa*d*e+4*2*a*d)%s",
			 s->has_joined_rotary ? "3*" : "", over);
	else if (vt_terms_is_eager(plan) && s->has_sinks_in_scores)
		snprintf(buf, size, "(a*3*(s+1)*e+3*a*d*e)%s", over);
	else if (vt_terms_is_eager(plan) && s->has_held_scores)
		snprintf(buf, size, "(a*s*%s+4*a*d*e)%s",
			 vt_plan_symbol(plan, "e") == 4 ? "(2*e+4)" : "(2*e+4+4)", over);
	else if (vt_terms_is_eager(plan))
		/* Only fp16 is read by the softmax in fp32 as it is. */
		snprintf(buf, size, "(a*s*%s+3*a*d*e)%s",
			 vt_plan_symbol(plan, "e") == 4 ? "(4+4)" : "(e+4+4)", over);
	else if (s->kv_rank)
		/* As projected, joined with their rotated parts; the output twice. */
		snprintf(buf, size, "e*(a*(3*d+rope)+a*(d-rope+dv)+2*a*dv)%s", over);
	else if (s->has_fp32_rotary)
		snprintf(buf, size, "(4*(4*a*d+k*d)+2*e*k*d)%s", over);
	else
		snprintf(buf, size, "0");
	return buf[0] != '0';
}

/*
 * The moment of a layer that holds most: its attention, where that computes scores, or its mlp, by
 * which time one more of the residual stream is there.
 */
static void add_widest(struct vt_plan *plan)
{
	const unsigned stages = VT_IN(FIRST_LAYER) | VT_IN(FORWARD);
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const struct vt_term_spec layer = { s->inner ? "activations/mixer" : "activations/mlp",
		stages, VT_PLAYED_PASSING, NULL, NULL,
		"one layer at a time: the mlp, or a norm in fp32" };
	const struct vt_term_spec scores = { "activations/attention", stages, VT_PLAYED_PASSING,
		NULL, NULL,
		"one layer at a time: the scores, what a softmax in fp32 makes of them, q, k, v; "
		"or these, while they are rotated in fp32" };
	const struct vt_term_spec scan = { "activations/mixer", stages, VT_PLAYED_PASSING, NULL,
		NULL,
		"without kernels: decay, input and their product of every token, or of every pair "
		"of them in a chunk, in fp32; what is projected and convolved, and that in fp32" };
	const struct vt_term_spec stream = { "activations/residual", stages, VT_PLAYED_PASSING,
		NULL, NULL, "the layer's input, its residual and what the norm gives" };
	const struct vt_term_spec given = { "activations/attention", stages, VT_PLAYED_PASSING,
		NULL, NULL, "what attention gave, while the mlp runs" };
	const struct vt_term_spec behind = { "activations/attention", stages, VT_PLAYED_PASSING,
		NULL, NULL, "the stream after attention, while the mlp runs" };
	const struct vt_term_spec returned = { "activations/attention", VT_IN(FORWARD),
		VT_PLAYED_PASSING, NULL, NULL,
		"what softmax made of the scores of the layer before, which the model holds" };
	const struct vt_term_spec bias = { "activations/embedding", stages, VT_PLAYED_PASSING, NULL,
		NULL, "the bias of relative positions, which every layer's scores get" };
	/* Copies of the input, what experts gave, and that weighted and put back in order. */
	const char *experts = !vt_plan_symbol(plan, "Lmoe") ? "0" :
			      s->has_fp32_experts ? "chosen*max(h*(2*w+2*4), 4*ie*w+h*w)" :
						    "chosen*max(h*(2*w+2*w), 4*ie*w+h*w)";
	const char *by_scan = vt_terms_widest_of_mixer(plan);
	char by_mlp[160], by_scores[96];

	if (vt_terms_is_eager(plan) && s->has_returned_weights)
		vt_plan_add(plan, &returned, "T*a*s*e%s", vt_terms_over(plan));
	snprintf(by_mlp, sizeof(by_mlp), "max(max((%d*e*max(%s,inner))%s, %s), 8*h-e*h)",
		 wide_of(plan), vt_terms_mlp_width(plan), vt_terms_over(plan), experts);
	if (scores_of(plan, by_scores, sizeof(by_scores)) &&
	    vt_terms_value(plan, by_scores) >=
		    vt_terms_value(plan, by_mlp) + vt_terms_value(plan, "h*e") &&
	    (!by_scan || vt_terms_value(plan, by_scores) >= vt_terms_value(plan, by_scan))) {
		vt_plan_add(plan, &stream, "2*T*h*e");
		vt_plan_add(plan, &scores, "T*%s", by_scores);
		return;
	}
	if (plan->model->stacks[VT_PART_ENCODER].layers) {
		vt_plan_add(plan, &stream, "2*T*h*e");
		vt_plan_add(plan, &behind, "T*h*e");
		if (!s->positions)
			vt_plan_add(plan, &bias, "a*s*s*e");
	} else {
		vt_plan_add(plan, &stream,
			    s->has_shared_norm_input || s->norms == 1 ? "2*T*h*e" : "3*T*h*e");
	}
	if (s->is_attention_held)
		vt_plan_add(plan, &given, "T*h*e");
	if (by_scan)
		vt_plan_add(plan, &scan, "T*(%s)", by_scan);
	else
		vt_plan_add(plan, &layer, "T*%s", by_mlp);
}

static void add_inference(struct vt_plan *plan)
{
	const struct vt_term_spec embedding = { "activations/embedding",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), VT_PLAYED_PASSING, NULL, NULL,
		"the embeddings, which the model's own variable holds to the end" };
	const struct vt_term_spec rotation = { "activations/attention",
		VT_IN(FIRST_LAYER) | VT_IN(FORWARD), VT_PLAYED_PASSING, NULL, NULL,
		"cos and sin of every position: in generation each sequence has its own" };
	const struct vt_term_spec last = { "activations/residual", VT_IN(LOGITS), VT_PLAYED_STAGED,
		NULL, NULL, "the last hidden states, the head's input" };
	const struct vt_term_spec mask = { "activations/mask", VT_IN(FORWARD), VT_PLAYED_PASSING,
		NULL, NULL,
		"the mask of padding, of a window, or of eager attention, which has one for each "
		"kind of layer" };
	const struct vt_term_spec step = { "activations/mlp", VT_IN(DECODE), VT_PLAYED_STAGED, NULL,
		NULL, "one layer of one token per sequence" };
	const struct vt_term_spec chosen = { "activations/mlp", VT_IN(DECODE), VT_PLAYED_STAGED,
		NULL, NULL,
		"a copy of the weights of every chosen expert of every sequence (transformers "
		"multiplies them as a batch in decoding)" };
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];

	vt_plan_add(plan, &embedding, s->positions ? "2*T*h*e" : "T*h*e");
	if (s->attention_layers && !s->positions && !plan->model->stacks[VT_PART_ENCODER].layers &&
	    vt_plan_setting(plan, VT_SET_NEW_TOKENS))
		vt_plan_add(plan, &rotation, s->rope_dim ? "2*T*rope*e" : "2*T*d*e");
	add_widest(plan);
	if (plan->model->stacks[VT_PART_ENCODER].layers)
		vt_terms_encoder_output(plan);
	else
		vt_plan_add(plan, &last, s->has_masked_head ? "2*T*h*e" : "T*h*e");
	if (vt_terms_is_eager(plan))
		vt_plan_add(plan, &mask, "(min(Lfull,1)+min(Lwindow,1))*b*s*s*e");
	else if (vt_plan_setting(plan, VT_SET_MASK) ||
		 (vt_plan_symbol(plan, "Lwindow") &&
		  vt_plan_symbol(plan, "window") < vt_plan_symbol(plan, "s")))
		vt_plan_add(plan, &mask, "b*s*s");
	vt_plan_add(plan, &step, "b*e*(%d*max(max(%s,ie*chosen),inner)+2*h)", wide_of(plan),
		    vt_terms_mlp_width(plan));
	vt_plan_add(plan, &chosen, "min(Lmoe,1)*b*chosen*%d*ie*h*e%s",
		    s->mlp == VT_MLP_GATED ? 3 : 2, vt_terms_over(plan));
	add_kept(plan);
}

void vt_terms_activations(struct vt_plan *plan)
{
	vt_terms_ring(plan);
	if (is_training_layers(plan))
		add_training(plan);
	else if (!vt_plan_is_training(plan) && plan->model->stacks[VT_PART_TEXT].hidden)
		add_inference(plan);
}
