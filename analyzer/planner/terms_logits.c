/* SPDX-License-Identifier: MIT */
/*
 * Logits and the loss: bytes per logit, T*V logits.
 */
#include "analyzer/planner/terms.h"

#define IN_LOSS (VT_IN(LOSS) | VT_IN(BACKWARD_LOSS))

/* Of the head's weights, where they train, and of its input. */
static const char *head_gradient(const struct vt_plan *plan)
{
	int is_frozen = vt_plan_setting(plan, VT_SET_LORA) ||
			vt_plan_setting(plan, VT_SET_FREEZE) == VT_FREEZE_ALL_BUT_PROJECTOR;

	return is_frozen ? "T*h*e" : "V*h*g/t + T*h*e";
}

/* What a chunk of the loss needs, and what a loop without checkpointing leaves behind. */
static void add_chunked(struct vt_plan *plan, int64_t loss)
{
	const struct vt_term_spec kept = { "logits", IN_LOSS, VT_PLAYED_STAGED, NULL, NULL,
		"every chunk's fp32 log-softmax stays for backward: a loop alone saves little" };
	const struct vt_term_spec forward = { "logits", VT_IN(LOSS), VT_PLAYED_STAGED, NULL, NULL,
		"one chunk: logits, their upcast, log-softmax" };
	const struct vt_term_spec backward = { "logits", VT_IN(BACKWARD_LOSS), VT_PLAYED_STAGED,
		NULL, NULL, "one chunk going backward" };
	const struct vt_term_spec hidden = { "gradients", VT_IN(BACKWARD_LOSS), VT_PLAYED_STAGED,
		NULL, NULL, "of the head's weights and input, summed over the chunks" };

	if (loss == VT_LOSS_CHUNKED)
		vt_plan_add(plan, &kept, "4*T*V/t");
	vt_plan_add(plan, &forward, "(e+4+4)*min(x,T)*V/t");
	vt_plan_add(plan, &backward, "(4+4+4+e)*min(x,T)*V/t");
	vt_plan_add(plan, &hidden, "%s", head_gradient(plan));
}

/* A fused linear cross-entropy makes the gradient in forward, chunk by chunk. */
static void add_fused(struct vt_plan *plan)
{
	const struct vt_term_spec chunk = { "logits", VT_IN(LOSS), VT_PLAYED_STAGED, "0",
		"(e+4)*max(x,min(liger,T))*V/t",
		"one chunk of logits, turned into its gradient in place" };
	const struct vt_term_spec gradient = { "gradients", IN_LOSS, VT_PLAYED_STAGED, NULL, NULL,
		"of the head's weights and input, made in forward" };

	vt_plan_add(plan, &chunk, "e*min(liger,T)*V/t");
	vt_plan_add(plan, &gradient, "%s", head_gradient(plan));
}

/* The whole logits at once: bytes per logit by variant. */
static void add_whole(struct vt_plan *plan, int64_t loss)
{
	/* .float() of what is fp32 already makes nothing. */
	int is_upcast = vt_plan_symbol(plan, "e") < 4;
	const struct vt_term_spec forward = { "logits", VT_IN(LOSS), VT_PLAYED_STAGED, NULL, NULL,
		loss == VT_LOSS_PLAIN || !is_upcast ? "logits and their log-softmax" :
		loss == VT_LOSS_COPIED ? "logits, a shifted copy, the upcast, log-softmax" :
					 "logits, their fp32 upcast, log-softmax" };
	const struct vt_term_spec backward = { "logits", VT_IN(BACKWARD_LOSS), VT_PLAYED_STAGED,
		NULL, NULL, "log-softmax, its gradient, the logits' gradient" };
	const struct vt_term_spec held = { "logits", VT_IN_BACKWARD, VT_PLAYED_TRANSIENT, "0",
		"e*T*V/t", "the script may still hold the model's output" };
	const struct vt_term_spec capped = { "logits", IN_LOSS, VT_PLAYED_STAGED, NULL, NULL,
		"the tanh of the logits' soft cap" };
	const struct vt_term_spec gradient = { "logits", VT_IN(BACKWARD_TOP), VT_PLAYED_HEADS, NULL,
		NULL, "the logits' gradient, while the head goes backward" };

	/* tanh keeps what it gave, until backward is behind it. */
	if (plan->model->stacks[VT_PART_TEXT].has_soft_cap)
		vt_plan_add(plan, &capped, "e*T*V/t");
	if (loss == VT_LOSS_PLAIN) {
		vt_plan_add(plan, &forward, "2*e*T*V/t");
		vt_plan_add(plan, &backward, "3*e*T*V/t");
	} else if (loss == VT_LOSS_COPIED) {
		vt_plan_add(plan, &forward, is_upcast ? "(2*e+4+4)*T*V/t" : "(2*e+4)*T*V/t");
		vt_plan_add(plan, &backward, "(4+4+4)*T*V/t");
	} else {
		vt_plan_add(plan, &forward, is_upcast ? "(e+4+4)*T*V/t" : "(e+4)*T*V/t");
		vt_plan_add(plan, &backward, "(4+4+4)*T*V/t");
	}
	vt_plan_add(plan, &gradient, "e*T*V/t");
	vt_plan_add(plan, &held, "held*e*T*V/t");
}

static void add_inference(struct vt_plan *plan)
{
	const struct vt_term_spec all = { "logits", VT_IN(LOGITS), VT_PLAYED_STAGED, NULL, NULL,
					  "of every position" };
	const struct vt_term_spec last = { "logits", VT_IN(LOGITS) | VT_IN(DECODE),
		VT_PLAYED_STAGED, NULL, NULL,
		"of the last position, and their fp32 copy for sampling" };
	const struct vt_term_spec summed = { "logits", VT_IN(LOGITS), VT_PLAYED_STAGED, NULL, NULL,
		"the head's product, while it is scaled or capped, or a bias is added" };
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	int64_t wanted = vt_plan_setting(plan, VT_SET_LOGITS);
	int is_last = wanted == VT_LOGITS_AUTO ? vt_plan_setting(plan, VT_SET_NEW_TOKENS) > 0 :
						 wanted == VT_LOGITS_LAST;

	if (is_last)
		vt_plan_add(plan, &last, "b*V*(e+4)/t");
	else
		vt_plan_add(plan, &all, "T*V*e/t");
	if (s->has_added_bias || s->has_scaled_logits || s->has_soft_cap)
		vt_plan_add(plan, &summed, is_last ? "b*V*e/t" : "T*V*e/t");
}

void vt_terms_logits(struct vt_plan *plan)
{
	int64_t loss = vt_plan_setting(plan, VT_SET_LOSS);

	if (!plan->settings->is_given[VT_SET_LOSS] &&
	    plan->model->stacks[VT_PART_TEXT].has_plain_loss)
		loss = VT_LOSS_PLAIN;
	if (!vt_plan_is_training(plan))
		add_inference(plan);
	else if (loss == VT_LOSS_FUSED)
		add_fused(plan);
	else if (loss == VT_LOSS_CHUNKED || loss == VT_LOSS_CHECKPOINTED)
		add_chunked(plan, loss);
	else
		add_whole(plan, loss);
}
