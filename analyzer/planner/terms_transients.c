/* SPDX-License-Identifier: MIT */
/*
 * What is there for a moment while something goes backward: gradients of activations on their way,
 * and what a kernel needs beside them.
 */
#include <math.h>
#include <stdio.h>

#include "analyzer/planner/terms.h"

#define IN_LAYER (VT_IN(BACKWARD_TOP) | VT_IN(BACKWARD_BOTTOM))

/*
 * The gradient of a bias, or of a norm's weight, is a sum over all tokens.  PyTorch's reduction
 * (aten/native/cuda/Reduce.cuh) splits it over blocks of 32 x 4 threads with 4 columns each, until
 * the card is full but not below 16 rows per thread, and keeps a partial sum in fp32 of each; not
 * where a thread has fewer than 256 rows.
 */
static void sum_over_tokens(char *buf, size_t size, const char *width)
{
	snprintf(buf, size,
		 "min(floor(T/1024),1)*512*%s*max(min(ceil(blocks/ceil(%s/128)), ceil(T/64)), "
		 "ceil(T/1024))",
		 width, width);
}

static int is_trained(const struct vt_plan *plan)
{
	return !vt_plan_setting(plan, VT_SET_LORA) &&
	       vt_plan_setting(plan, VT_SET_FREEZE) != VT_FREEZE_ALL_BUT_PROJECTOR;
}

/* A head with a bias: the logits' gradient is summed over the tokens, after that of its weights. */
static void add_head_bias(struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const struct vt_term_spec sums = { "workspace/other", VT_IN(BACKWARD_NORM),
		VT_PLAYED_STAGED, NULL, NULL, "partial sums of the gradient of the head's bias" };
	const struct vt_term_spec logits = { "logits", VT_IN(BACKWARD_NORM), VT_PLAYED_STAGED, NULL,
		NULL, "their gradient, while that of the bias is summed" };
	char partial[160];

	if (!s->has_head_bias || s->has_no_head || !is_trained(plan) ||
	    vt_plan_setting(plan, VT_SET_TENSOR) > 1)
		return;
	sum_over_tokens(partial, sizeof(partial), "V");
	vt_plan_add(plan, &sums, "%s", partial);
	vt_plan_add(plan, &logits, "T*V*e");
}

/* LayerNorm has kernels of its own for both of its gradients; RMSNorm is made of operators. */
static void add_last_norm(struct vt_plan *plan)
{
	const struct vt_term_spec gradients = { "gradients", VT_IN(BACKWARD_NORM), VT_PLAYED_STAGED,
		NULL, NULL,
		"of the last norm's output and of what its weight was multiplied with" };
	const struct vt_term_spec sums = { "workspace/other", VT_IN(BACKWARD_NORM),
		VT_PLAYED_STAGED, NULL, NULL,
		"their product, and the partial sums of it that make the weight's gradient" };
	enum vt_norm_kind kind = plan->model->stacks[VT_PART_TEXT].norm;
	const char *r = kind == VT_NORM_RMS_FP32 ? "4" : "r";
	char partial[160];

	if (kind == VT_NORM_LAYER || !is_trained(plan)) {
		vt_plan_add(plan, &gradients, "T*h*(e+r)");
		return;
	}
	sum_over_tokens(partial, sizeof(partial), "h");
	vt_plan_add(plan, &gradients, "T*h*2*%s", r);
	vt_plan_add(plan, &sums, "T*h*%s + %s", r, partial);
}

static double mlp_transient(const struct vt_plan *plan)
{
	double e = vt_plan_symbol(plan, "e");
	double of_mlp = e * vt_terms_value(plan, vt_terms_mlp_width(plan));
	double inner = fmax(of_mlp, vt_terms_value(plan, "w*ie*chosen"));

	return 2 * inner / vt_plan_symbol(plan, "t") + 2 * e * vt_plan_symbol(plan, "h");
}

static double norm_transient(const struct vt_plan *plan)
{
	return (12 + vt_plan_symbol(plan, "e")) * vt_plan_symbol(plan, "h");
}

/* Bytes of those partial sums. */
static double sums_over_tokens(const struct vt_plan *plan, double width)
{
	double tokens = vt_plan_symbol(plan, "T");
	double blocks = fmin(ceil(vt_plan_symbol(plan, "blocks") / ceil(width / 128)),
			     ceil(tokens / 64));

	return tokens < 1024 ? 0 : 512 * width * fmax(blocks, ceil(tokens / 1024));
}

int vt_terms_is_bias_widest(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	double e = vt_plan_symbol(plan, "e"), i = vt_plan_symbol(plan, "i");
	double h = vt_plan_symbol(plan, "h"), tokens = vt_plan_symbol(plan, "T");
	double sums = sums_over_tokens(plan, i);

	return s->has_mlp_bias && s->mlp == VT_MLP_PLAIN && s->activation_steps == 1 && i &&
	       is_trained(plan) && !vt_terms_is_eager(plan) &&
	       vt_plan_setting(plan, VT_SET_TENSOR) == 1 &&
	       sums + tokens * e * (i + 2 * h - 2 * i) > tokens * mlp_transient(plan);
}

/* The bias of the mlp's second half comes first, when all that the mlp kept is there. */
static int is_second_bias_widest(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	double h = vt_plan_symbol(plan, "h"), i = vt_plan_symbol(plan, "i");
	double e = vt_plan_symbol(plan, "e"), tokens = vt_plan_symbol(plan, "T");

	return s->has_mlp_bias && is_trained(plan) && vt_plan_setting(plan, VT_SET_TENSOR) == 1 &&
	       sums_over_tokens(plan, h) + tokens * e * (i + 2 * h) +
			       i * h * vt_plan_symbol(plan, "g") >
		       tokens * fmax(mlp_transient(plan), norm_transient(plan));
}

static void add_bias(struct vt_plan *plan, const char *width)
{
	const struct vt_term_spec sums = { "workspace/other",
					   IN_LAYER,
					   VT_PLAYED_TRANSIENT, NULL, NULL,
		"partial sums of the gradient of a bias in the mlp" };
	const struct vt_term_spec gradients = {
		"gradients",
		IN_LAYER,
		VT_PLAYED_TRANSIENT, NULL, NULL,
		"of the mlp's first half, of the residual stream, of the second half's weights"
	};
	char partial[160];

	sum_over_tokens(partial, sizeof(partial), width);
	vt_plan_add(plan, &sums, "%s", partial);
	/* A bias comes behind the weights beside it. */
	vt_plan_add(plan, &gradients, "T*(i*e+2*h*e) + %d*i*h*g", width[0] == 'i' ? 2 : 1);
}

static void add_layer(struct vt_plan *plan)
{
	const struct vt_term_spec scores = { "gradients", IN_LAYER, VT_PLAYED_TRANSIENT, NULL, NULL,
		"of one layer's scores" };
	const struct vt_term_spec mlp = { "gradients", IN_LAYER, VT_PLAYED_TRANSIENT, NULL, NULL,
		"of one layer's widest tensors" };
	const struct vt_term_spec norm = {
		"gradients", IN_LAYER, VT_PLAYED_TRANSIENT, NULL, NULL,
		"of a norm's output, in fp32 twice"
	};
	const struct vt_term_spec product = { "workspace/other",
					      IN_LAYER,
					      VT_PLAYED_TRANSIENT, NULL, NULL,
		"a norm's product in fp32, of which sums are made" };

	if (vt_terms_is_scanned(plan)) {
		vt_terms_mixer_transient(plan, IN_LAYER);
	} else if (vt_terms_is_eager(plan)) {
		vt_plan_add(plan, &scores, "(T*a*s*(e+4+e))%s", vt_terms_over(plan));
	} else if (vt_terms_is_bias_widest(plan)) {
		add_bias(plan, "i");
	} else if (is_second_bias_widest(plan)) {
		add_bias(plan, "h");
	} else if (mlp_transient(plan) >= norm_transient(plan)) {
		vt_plan_add(plan, &mlp, "T*((2*max(e*%s,w*ie*chosen))%s+2*e*h)",
			    vt_terms_mlp_width(plan), vt_terms_over(plan));
	} else {
		vt_plan_add(plan, &norm, "T*(2*4*h+e*h)");
		vt_plan_add(plan, &product, "T*4*h");
	}
}

void vt_terms_transients(struct vt_plan *plan)
{
	const struct vt_term_spec end = { "gradients", VT_IN(BACKWARD_END), VT_PLAYED_STAGED, NULL,
		NULL, "of the embeddings that the tokens had" };

	if (!vt_plan_is_training(plan) || !plan->model->stacks[VT_PART_TEXT].hidden)
		return;
	add_head_bias(plan);
	add_last_norm(plan);
	add_layer(plan);
	vt_plan_add(plan, &end, "T*h*e");
}
