/* SPDX-License-Identifier: MIT */
/*
 * An encoder beside a decoder: its layers over its own tokens, and in every layer of the decoder a
 * second attention, to what it gave.
 */
#include <stdio.h>

#include "analyzer/planner/terms.h"

static const struct vt_stack *decoder_of(const struct vt_plan *plan)
{
	return &plan->model->stacks[VT_PART_TEXT];
}

/* Over the encoder's tokens, which may be another number of them. */
static void add(struct vt_plan *plan, const char *owner, const char *layers, const char *bytes,
		const char *why, int is_recomputed)
{
	vt_terms_add_piece_of(plan, owner, layers, "Te", bytes, why, is_recomputed);
}

/*
 * T5's norms multiply the residual stream as it is, which therefore stays, too; the bias of
 * positions is a tensor of heads and scores' size in every layer of the decoder.
 */
static void add_rms_norms(struct vt_plan *plan, int is_recomputed)
{
	add(plan, "activations/norm", "Lenc", "2*(4*h+r*h+4+e*h)+r*h",
	    "the encoder's norms, and the stream after its mlp", is_recomputed);
	add(plan, "activations/attention", "Lenc", "r*h", "the stream after attention",
	    is_recomputed);
	vt_terms_add_piece(plan, "activations/attention", "L", "2*r*h",
			   "the stream after both attentions", is_recomputed);
	vt_terms_add_piece(plan, "activations/norm", "L", "e*h+r*h",
			   "the third norm's output, and the stream after the mlp", is_recomputed);
	add(plan, "activations/norm", NULL, "4*h+r*h+4+2*e*h+h",
	    "the encoder's last norm, and dropout after it", is_recomputed);
}

/* Before a part or behind it, a norm keeps its input and feeds a product. */
static void add_layer_norms(struct vt_plan *plan, int is_recomputed)
{
	add(plan, "activations/norm", "Lenc", "2*(r*h+8+e*h)",
	    "the encoder's norms: what they take and give", is_recomputed);
	if (decoder_of(plan)->has_norms_behind)
		vt_terms_add_piece(plan, "activations/norm", "L", "r*h+8+e*h",
				   "the norm after the attention to the encoder", is_recomputed);
	else
		vt_terms_add_piece(plan, "activations/norm", "L", "e*h", "the third norm's output",
				   is_recomputed);
	add(plan, "activations/norm", NULL,
	    decoder_of(plan)->has_norms_behind ? "r*h+8" : "r*h+8+e*h",
	    decoder_of(plan)->has_norms_behind ? "the norm of the encoder's embeddings" :
						 "the encoder's last norm",
	    is_recomputed);
}

/* Sound is convolved twice, the second time to half its length. */
static void add_sound(struct vt_plan *plan)
{
	const struct vt_term_spec convolved = { "activations/conv", VT_IN_WHOLE, VT_PLAYED_STAGED,
		NULL, NULL, "what both convolutions give, which their activations need" };
	const struct vt_term_spec activated = { "activations/mlp", VT_IN_WHOLE, VT_PLAYED_STAGED,
		NULL, NULL, "the activation of the first, which the second takes" };

	if (!plan->model->stacks[VT_PART_ENCODER].sound)
		return;
	vt_plan_add(plan, &convolved, "3*Te*h*e");
	vt_plan_add(plan, &activated, "2*Te*h*e");
}

static void add_attentions(struct vt_plan *plan, const char *mask, int is_recomputed)
{
	char bytes[128];

	snprintf(bytes, sizeof(bytes), "e*4*a*d+4*a%s%s", decoder_of(plan)->has_joined_rotary ?
								 "+e*a*d" : "", mask);
	add(plan, "activations/attention", "Lenc", bytes, "the encoder's q, k, v and output",
	    is_recomputed);
	snprintf(bytes, sizeof(bytes), "e*2*a*d+4*a%s%s", decoder_of(plan)->has_joined_rotary ?
								 "+e*a*d" : "", mask);
	vt_terms_add_piece(plan, "activations/attention", "L", bytes,
			   "the decoder's attention to the encoder: q and the output",
			   is_recomputed);
	add(plan, "activations/attention", "L", "e*2*a*d",
	    "its k and v of what the encoder gave", is_recomputed);
	if (decoder_of(plan)->has_relative_positions)
		vt_terms_add_piece(plan, "activations/attention", "L", "2*a*s*e/b",
				   "the bias of positions", is_recomputed);
}

void vt_terms_encoder(struct vt_plan *plan, int is_recomputed)
{
	const struct vt_stack *encoder = &plan->model->stacks[VT_PART_ENCODER];
	const char *mask = decoder_of(plan)->has_dropout ? "+h" : "";
	char bytes[128];

	if (!encoder->layers)
		return;
	if (encoder->norm == VT_NORM_LAYER)
		add_layer_norms(plan, is_recomputed);
	else
		add_rms_norms(plan, is_recomputed);
	add_attentions(plan, mask, is_recomputed);
	snprintf(bytes, sizeof(bytes), "%d*ienc*e%s%s", vt_terms_mlp_tensors(plan, encoder),
		 encoder->has_inner_dropout ? "+ienc" : "", mask);
	add(plan, "activations/mlp", "Lenc", bytes, "the encoder's mlp", is_recomputed);
	if (decoder_of(plan)->has_inner_dropout)
		vt_terms_add_piece(plan, "activations/mlp", "L", "i",
				   "the mask of the dropout inside of it", is_recomputed);
	add_sound(plan);
}

void vt_terms_encoder_output(struct vt_plan *plan)
{
	const struct vt_term_spec given = { "activations/norm", VT_IN(LOGITS) | VT_IN(DECODE),
		VT_PLAYED_STAGED, NULL, NULL, "what the encoder gave, until generation ends" };
	const struct vt_term_spec last = { "activations/norm", VT_IN(LOGITS), VT_PLAYED_STAGED,
		NULL, NULL, "the decoder's last hidden states, the head's input" };
	const struct vt_term_spec made = { "activations/attention", VT_IN(DECODE), VT_PLAYED_STAGED,
		NULL, NULL,
		"the attention to the encoder: one layer's k and v, before the cache copied them" };

	vt_plan_add(plan, &given, "Te*h*e");
	vt_plan_add(plan, &last, "b*sd*h*e");
	vt_plan_add(plan, &made, "Te*k*(d+dv)*e");
}
