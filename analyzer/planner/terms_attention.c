/* SPDX-License-Identifier: MIT */
/*
 * What attention keeps for backward: queries, keys, values, masks, scores where nothing fuses them.
 */
#include <stdio.h>

#include "analyzer/planner/terms.h"

static const struct vt_stack *text_of(const struct vt_plan *plan)
{
	return &plan->model->stacks[VT_PART_TEXT];
}

static void add_scores(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = text_of(plan);
	const char *softmax = vt_plan_symbol(plan, "e") == 4 ? "4" : "(4+e)";
	const char *why = "eager attention keeps the softmax of s*s scores in fp32 and its cast";
	char bytes[96];

	if (s->has_sinks_in_scores) {
		snprintf(bytes, sizeof(bytes), "(a*e*((s+1)+s))%s", vt_terms_over(plan));
		why = "eager attention keeps the softmax of s*s scores and a sink each, and the "
		      "copy of it without them";
	} else if (s->has_summed_scores) {
		snprintf(bytes, sizeof(bytes), "(a*s*(%s+e)+a*dv*e)%s", softmax,
			 vt_terms_over(plan));
		why = "eager attention keeps s*s scores for the logarithm of their sums, their "
		      "softmax in fp32 and its cast; the output before it is scaled";
	} else if (s->has_scores_cap) {
		snprintf(bytes, sizeof(bytes), "(a*s*(%s+e))%s", softmax, vt_terms_over(plan));
		why = "eager attention keeps the tanh of s*s scores, their softmax in fp32 and "
		      "its cast";
	} else {
		snprintf(bytes, sizeof(bytes), "(a*s*(%s))%s", softmax, vt_terms_over(plan));
	}
	vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan), bytes, why,
			   is_recomputed || vt_plan_setting(plan, VT_SET_CHECKPOINTING) ==
						    VT_CHECKPOINTING_SELECTIVE);
}

/* Beside queries, keys, values and output: what is made of latents, and their norms. */
static void add_latents(struct vt_plan *plan, int is_recomputed)
{
	char bytes[128];

	snprintf(bytes, sizeof(bytes), "(e*(a*(d-rope)+a*dv))%s + e*(rank+rope)",
		 vt_terms_over(plan));
	vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan), bytes,
		  "keys beside the values they came with, the output once more (its layout is "
		  "copied), the latents",
		  is_recomputed);
	vt_terms_add_piece(plan, "activations/norm", vt_terms_attentions(plan),
		  "(rank+qrank)*(4+r+e)+4+min(qrank,4)",
		  "norms of the latents", is_recomputed);
}

/*
 * SDPA has no kernel for fp32 with fewer keys than queries, nor for keys of another number of heads
 * that it is not told of: it computes the scores itself.
 */
int vt_terms_is_math(const struct vt_plan *plan)
{
	const struct vt_stack *s = text_of(plan);

	return vt_plan_setting(plan, VT_SET_ATTENTION) == VT_ATTENTION_SDPA &&
	       !vt_terms_is_eager(plan) && s->kv_heads < s->heads &&
	       (vt_plan_symbol(plan, "e") == 4 || s->has_broadcast_keys);
}

/* In fp32 whatever the type, and keys and values written out for every head of queries. */
static void add_math(struct vt_plan *plan, int is_recomputed)
{
	char bytes[128];

	snprintf(bytes, sizeof(bytes), "(4*a*s+4*(2*a*d+a*dv)+e*a*dv)%s+e*(k*d+k*dv)",
		 vt_terms_over(plan));
	vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan), bytes,
			   "no kernel takes these keys: softmax, q, k and v in fp32, all heads of "
			   "them, the output; the keys and values that came",
			   is_recomputed);
}

/* A window shorter than the sequence, or padding, is a mask, which no kernel with groups takes. */
static void add_masked_kernel(struct vt_plan *plan, const char *layers, int is_recomputed)
{
	/* One head of keys is repeated without a copy. */
	if (text_of(plan)->kv_heads > 1 && !vt_plan_setting(plan, VT_SET_REPEAT_KV))
		vt_terms_add_piece(plan, "activations/attention", layers,
				   "e*((a-k)*d+(a-k)*dv)",
				   "keys and values repeated to every head where there is a mask",
				   is_recomputed);
	vt_terms_add_piece(plan, "activations/attention", layers, "s*e",
			   "the mask in the type of the queries, which every layer makes anew",
			   is_recomputed);
}

static int is_windowed(const struct vt_plan *plan)
{
	return vt_plan_symbol(plan, "Lwindow") &&
	       vt_plan_symbol(plan, "window") < vt_plan_symbol(plan, "s");
}

/* The kernels of SDPA and flash attention. */
static void add_kernel(struct vt_plan *plan, int is_recomputed)
{
	int is_repeated = vt_plan_setting(plan, VT_SET_REPEAT_KV) != 0 || vt_terms_is_math(plan);
	const char *keys = is_repeated ? "a" : "k";
	char bytes[160];

	snprintf(bytes, sizeof(bytes), "(e*(a*d+a*dv+%s*d+%s*dv)+4*a)%s", keys, keys,
		 vt_terms_over(plan));
	vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan), bytes,
			   is_repeated ? "q, the output, and k and v repeated to every head" :
					 "q, k, v, the output and the logarithms of sums; flash "
					 "kernel",
			   is_recomputed);
	if (text_of(plan)->has_joined_rotary)
		vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan),
				   "e*a*dv",
				   "the output once more: joined queries give it a layout that is "
				   "copied",
				   is_recomputed);
	if (vt_terms_is_math(plan))
		return;
	if (vt_plan_setting(plan, VT_SET_MASK))
		add_masked_kernel(plan, vt_terms_attentions(plan), is_recomputed);
	else if (is_windowed(plan))
		add_masked_kernel(plan, "Lwindow", is_recomputed);
}

static void add_eager(struct vt_plan *plan, int is_recomputed)
{
	char bytes[160];

	if (text_of(plan)->has_fp32_scores)
		snprintf(bytes, sizeof(bytes), "(4*(a*d+a*d)+e*(a*dv+a*dv))%s",
			 vt_terms_over(plan));
	else
		snprintf(bytes, sizeof(bytes), "(e*(a*d+a*dv+a*d+a*dv))%s", vt_terms_over(plan));
	vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan), bytes,
			   text_of(plan)->has_fp32_scores ?
				   "q and k in fp32, the output, and v" :
				   "q, the output, and k and v repeated to every head",
			   is_recomputed);
	add_scores(plan, is_recomputed);
}

static void add_masks(struct vt_plan *plan)
{
	const struct vt_term_spec mask = { "activations/mask", VT_IN_TRAINING, VT_PLAYED_STAGED,
		NULL, NULL, "the mask of padding and causality, one for each kind of layer" };

	if (vt_terms_is_eager(plan))
		vt_plan_add(plan, &mask, "(min(Lfull,1)+min(Lwindow,1))*b*s*s*e");
	else if (vt_plan_setting(plan, VT_SET_MASK) || is_windowed(plan))
		vt_plan_add(plan, &mask, "b*s*s");
}

/* Two pairs: one that is computed with, one that comes from the neighbour (arXiv 2310.01889). */
void vt_terms_ring(struct vt_plan *plan)
{
	const struct vt_term_spec ring = { "communication",
		VT_IN_TRAINING | VT_IN(FIRST_LAYER) | VT_IN(FORWARD), VT_PLAYED_STAGED, NULL, NULL,
		"ring attention: the neighbours' keys and values of one layer, in use and on "
		"their way" };

	if (vt_plan_setting(plan, VT_SET_CONTEXT_PARALLEL) > 1 && text_of(plan)->attention_layers)
		vt_plan_add(plan, &ring, "2*T*k*(d+dv)*e%s", vt_terms_over(plan));
}

void vt_terms_attention(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *s = text_of(plan);

	if (vt_terms_is_math(plan) && s->has_broadcast_keys)
		add_math(plan, is_recomputed);
	else if (vt_terms_is_eager(plan))
		add_eager(plan, is_recomputed);
	else
		add_kernel(plan, is_recomputed);
	if (vt_terms_is_math(plan) && !s->has_broadcast_keys)
		add_scores(plan, is_recomputed);
	if (s->has_fused_qkv && !is_recomputed)
		vt_terms_add_piece(plan, "activations/attention", vt_terms_attentions(plan),
				   "e*(k*d+k*dv)",
				   "the cache's copies of keys and values, beside the tensor that "
				   "they were cut from (use_cache is on in training, too)",
				   0);
	add_masks(plan);
	if (s->kv_rank)
		add_latents(plan, is_recomputed);
}
