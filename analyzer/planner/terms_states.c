/* SPDX-License-Identifier: MIT */
/*
 * Weights, gradients and the optimizer's states: bytes per parameter.
 */
#include <stdio.h>

#include "analyzer/planner/terms.h"

#define IN_GRADIENTS (VT_IN(BACKWARD_END) | VT_IN(STEP))

static const char *rest_of_zero(const struct vt_plan *plan, int from_stage)
{
	return vt_plan_setting(plan, VT_SET_ZERO) >= from_stage ? "/N" : "";
}

static void add_quantised(struct vt_plan *plan)
{
	const struct vt_term_spec packed = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
		"linear layers packed with their scales; embeddings, head and norms stay" };
	const struct vt_term_spec scales = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
		"one fp32 scale per output of a linear layer" };
	const struct vt_term_spec unpacked = { "workspace/other", VT_IN_TRAINING | VT_IN_INFERENCE,
		VT_PLAYED_STAGED, NULL, NULL, "the largest matrix, unpacked for one product" };

	const char *zero = rest_of_zero(plan, 3);

	vt_plan_add(plan, &packed, *zero ? "(%s)%s" : "%s%s",
		    "Pquantised*bits/8 + (P-Pquantised)*w", zero);
	if (vt_plan_setting(plan, VT_SET_QUANTISE) == VT_QUANTISE_INT8)
		vt_plan_add(plan, &scales, "rows*4%s", zero);
	else
		vt_plan_add(plan, &unpacked, "largest*e");
}

/* What is not understood may be as large as its sizes together are. */
static void add_unread(struct vt_plan *plan)
{
	const struct vt_term_spec spec = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, "0",
		vt_plan_is_training(plan) ? "unread*(w+g+2*o)" : "unread*w",
		"keys that are not understood: at most a matrix of the two largest in each layer" };

	vt_plan_add(plan, &spec, "0");
}

static void add_weights(struct vt_plan *plan)
{
	const struct vt_term_spec spec = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
					   "every parameter once; a tied head is the embedding" };
	const struct vt_term_spec stored = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
					     "as stored in the file" };
	const struct vt_term_spec window = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
		"on the host but for what is outside the layers and two layers in flight" };

	if (vt_plan_setting(plan, VT_SET_QUANTISE))
		add_quantised(plan);
	else if (vt_plan_setting(plan, VT_SET_OFFLOAD) == VT_OFFLOAD_WEIGHTS)
		vt_plan_add(plan, &window, "(P - Player*L/t)*w + 2*Player*w/t");
	else if (!vt_plan_setting(plan, VT_SET_DTYPE) && plan->model->nr_tensors &&
		 plan->model->tensors[0].bits > 0)
		vt_plan_add(plan, &stored, "Pstored");
	else
		vt_plan_add(plan, &spec, "P*w%s", rest_of_zero(plan, 3));
}

/* Blocks are counted with what is too small to be split off their segments. */
static void add_buffers(struct vt_plan *plan)
{
	const struct vt_term_spec rope = { "buffers", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
		"cos and sin of every layer, all equal: one pair would do" };
	const struct vt_term_spec causal = { "buffers", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
		"masks of causality over all positions that the model may have" };
	const struct vt_term_spec tails = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL, NULL,
		vt_plan_setting(plan, VT_SET_LOAD) ?
			"ends of blocks that the allocator does not split (loading replayed)" :
			"ends of blocks that the allocator does not split" };

	vt_plan_add(plan, &rope, "L*2*positions*d*w");
	vt_plan_add(plan, &causal, "causal*smax*smax");
	vt_plan_add(plan, &tails, "tails");
}

/* Adapters are matrices in fp32, and so are their states, where an optimizer has any. */
static const struct {
	const char *formula, *why;
} adapter_states[] = {
	[VT_OPTIMIZER_ADAMW] = { "Padapters*8", "two fp32 states per element of an adapter" },
	[VT_OPTIMIZER_ADAMW8BIT] = { "2*Padapters*(1+4/256)",
		"two states of 8 bits per element of an adapter, an fp32 scale per 256" },
	[VT_OPTIMIZER_SGD] = { "0", "none" },
	[VT_OPTIMIZER_MOMENTUM] = { "Padapters*4", "momentum of the adapters" },
	[VT_OPTIMIZER_ADAFACTOR] = { "Padapters*4/lora + 4*lora*adapted",
		"fp32 factors of a row and a column of both halves of every adapter" },
	[VT_OPTIMIZER_MUON] = { "Padapters*4", "momentum of the adapters" },
};

static void add_adapters(struct vt_plan *plan)
{
	int64_t kind = vt_plan_setting(plan, VT_SET_OPTIMIZER);
	int is_accumulating = vt_plan_setting(plan, VT_SET_ACCUMULATE) > 1;
	const struct vt_term_spec weights = { "weights", VT_IN_ALL, VT_PLAYED_PARAMETERS, NULL,
		NULL, "adapters, which PEFT keeps in fp32" };
	const struct vt_term_spec gradients = { "gradients",
		is_accumulating ? VT_IN_TRAINING | VT_IN(STEP) : IN_GRADIENTS, VT_PLAYED_PARAMETERS,
		NULL, NULL, "of the adapters" };
	const struct vt_term_spec buckets = { "gradients", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_PARAMETERS, NULL, NULL, "DDP's buckets of the adapters' gradients" };
	const struct vt_term_spec optimizer = { "optimizer", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_PARAMETERS, NULL, NULL, adapter_states[kind].why };
	const struct vt_term_spec transient = { "workspace/optimizer", VT_IN(STEP),
		VT_PLAYED_PARAMETERS, NULL, NULL,
		"foreach AdamW: the square roots of all second moments at once" };
	const char *zero = rest_of_zero(plan, 1);

	vt_plan_add(plan, &weights, "Padapters*4%s", rest_of_zero(plan, 3));
	vt_plan_add(plan, &gradients, "Padapters*4%s", rest_of_zero(plan, 2));
	if (vt_plan_setting(plan, VT_SET_DATA) > 1 && !vt_plan_setting(plan, VT_SET_ZERO) &&
	    !vt_plan_setting(plan, VT_SET_BUCKET_VIEW))
		vt_plan_add(plan, &buckets, "Padapters*4");
	if (vt_plan_setting(plan, VT_SET_OFFLOAD) == VT_OFFLOAD_OPTIMIZER)
		return;
	vt_plan_add(plan, &optimizer, *zero ? "(%s)%s" : "%s%s", adapter_states[kind].formula,
		    zero);
	if (kind == VT_OPTIMIZER_ADAMW &&
	    vt_plan_setting(plan, VT_SET_OPTIMIZER_LOOP) == VT_LOOP_FOREACH)
		vt_plan_add(plan, &transient, "Padapters*4%s", zero);
}

/* Units that are gathered for a moment, one in use and one on its way. */
static void add_gathered(struct vt_plan *plan)
{
	const struct vt_term_spec weights = { "weights", VT_IN_TRAINING, VT_PLAYED_PARAMETERS, NULL,
		NULL, "gathered: the layer in use and the next one (FSDP wrapped per layer)" };
	const struct vt_term_spec gradients = { "gradients",
		VT_IN(BACKWARD_TOP) | VT_IN(BACKWARD_BOTTOM), VT_PLAYED_TRANSIENT, NULL, NULL,
		"of one layer, before they are scattered" };

	if (vt_plan_setting(plan, VT_SET_ZERO) < 3)
		return;
	vt_plan_add(plan, &weights, "2*Player*%s/t",
		    vt_plan_setting(plan, VT_SET_QUANTISE) ? "bits/8" : "e");
	if (!vt_plan_setting(plan, VT_SET_LORA))
		vt_plan_add(plan, &gradients, "Player*g/t");
}

/* Backward makes them from the head down; activations go as they come. */
static void add_partial_gradients(struct vt_plan *plan)
{
	const struct vt_term_spec head = { "gradients", VT_IN(BACKWARD_NORM) | VT_IN(BACKWARD_TOP),
		VT_PLAYED_PARAMETERS, NULL, NULL, "of the head alone, the first that is there" };
	/* Where attention or what stands for it takes most, the mlp after it has gone backward. */
	int is_before_mlp = vt_terms_is_scanned(plan) || vt_terms_is_eager(plan) ||
			    plan->model->stacks[VT_PART_TEXT].mixer == VT_MIXER_DELTA;
	const char *layer = is_before_mlp ? "(Player-Pmlp)" : "Player";
	const struct vt_term_spec most = { "gradients", VT_IN(BACKWARD_BOTTOM),
		VT_PLAYED_PARAMETERS, NULL, NULL,
		is_before_mlp ? "of the head, all layers but the first, and the first one's mlp" :
				"of the head and all layers but the first" };
	const struct vt_term_spec twice = { "gradients", VT_IN(BACKWARD_END), VT_PLAYED_PARAMETERS,
		NULL, NULL, "a tied embedding has two, one from the head" };
	const struct vt_term_spec sum = { "workspace/other", VT_IN(BACKWARD_END),
		VT_PLAYED_PARAMETERS, NULL, NULL, "the sum of those two, before they go" };
	const char *zero = rest_of_zero(plan, 3);

	vt_plan_add(plan, &head, "min(V*h/t, Ptrained)*g%s", zero);
	vt_plan_add(plan, &most, "(Ptrained-min((%s%s)/t, Ptrained))*g%s", layer,
		    plan->model->is_tied ? "" : "+V*h", zero);
	if (!plan->model->is_tied)
		return;
	vt_plan_add(plan, &twice, "min(V*h/t, Ptrained)*g%s", zero);
	/* What autocast's cast gives back is nobody else's: the other is added to it in place. */
	if (!vt_plan_setting(plan, VT_SET_AUTOCAST))
		vt_plan_add(plan, &sum, "min(V*h/t, Ptrained)*g%s", zero);
}

static void add_gradients(struct vt_plan *plan)
{
	int is_accumulating = vt_plan_setting(plan, VT_SET_ACCUMULATE) > 1;
	const struct vt_term_spec spec = { "gradients",
		is_accumulating ? VT_IN_TRAINING | VT_IN(STEP) : IN_GRADIENTS, VT_PLAYED_PARAMETERS,
		NULL, NULL,
		is_accumulating ? "kept between micro-batches" :
				  "set to None before the forward" };
	const struct vt_term_spec buckets = { "gradients", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_PARAMETERS, NULL, NULL,
		"DDP's buckets are a second copy without gradient_as_bucket_view" };

	vt_plan_add(plan, &spec, "Ptrained*g%s", rest_of_zero(plan, 2));
	if (!is_accumulating && !vt_plan_setting(plan, VT_SET_FREEZE))
		add_partial_gradients(plan);
	if (vt_plan_setting(plan, VT_SET_DATA) > 1 && !vt_plan_setting(plan, VT_SET_ZERO) &&
	    !vt_plan_setting(plan, VT_SET_BUCKET_VIEW))
		vt_plan_add(plan, &buckets, "Ptrained*g");
}

/* Formulas of the states, by optimizer; what they are follows each. */
static const struct {
	const char *formula, *why;
} states[] = {
	[VT_OPTIMIZER_ADAMW] = { "2*Ptrained*o", "exp_avg and exp_avg_sq" },
	[VT_OPTIMIZER_ADAMW8BIT] = { "2*(Ptrained-Psmall)*(1+4/256) + 8*Psmall",
		"two states of 8 bits, an fp32 scale per 256; small tensors in fp32" },
	[VT_OPTIMIZER_SGD] = { "0", "none" },
	[VT_OPTIMIZER_MOMENTUM] = { "Ptrained*o", "momentum" },
	[VT_OPTIMIZER_ADAFACTOR] = { "(factors+vectors)*4",
		"fp32 factors of a row and a column per matrix, vectors whole" },
	[VT_OPTIMIZER_MUON] = { "Pmatrices*o + 2*(Ptrained-Pmatrices)*o",
		"momentum of the layers' matrices, AdamW for the rest" },
};

/*
 * transformers' Adafactor goes through the parameters one by one: of a half type gradient and
 * parameter in fp32, and the update twice while it is made; or, before that, the mean over rows.
 * Its sums are split over blocks as those over tokens are (terms_transients.c).  Where the one
 * before was as large, its update is still there.
 */
static void add_adafactor(struct vt_plan *plan)
{
	const struct vt_term_spec half = { "workspace/optimizer", VT_IN(STEP), VT_PLAYED_PARAMETERS,
		NULL, "20*lr*lc",
		"Adafactor, of the largest parameter: gradient, parameter and update in fp32, and "
		"a second update or the partial sums of a mean" };
	const struct vt_term_spec whole = { "workspace/optimizer", VT_IN(STEP),
		VT_PLAYED_PARAMETERS, NULL, "12*lr*lc",
		"Adafactor, of the largest parameter: the update, and its square or the partial "
		"sums of a mean" };
	int is_half = vt_plan_symbol(plan, "g") < 4;

	if (vt_plan_setting(plan, VT_SET_LORA))
		return;
	vt_plan_add(plan, is_half ? &half : &whole,
		    "%d*lr*lc + max(%d*lr*lc, 512*lc*max(min(ceil(blocks/ceil(lc/128)), "
		    "ceil(lr/64)), ceil(lr/1024)))",
		    is_half ? 12 : 4, 4);
}

static void add_optimizer(struct vt_plan *plan)
{
	int64_t kind = vt_plan_setting(plan, VT_SET_OPTIMIZER);
	int64_t loop = vt_plan_setting(plan, VT_SET_OPTIMIZER_LOOP);
	const struct vt_term_spec spec = { "optimizer", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_PARAMETERS, NULL, NULL, states[kind].why };
	const struct vt_term_spec tails = { "optimizer", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_PARAMETERS, NULL, NULL,
		"ends of blocks that the allocator does not split, twice those of the weights" };
	const struct vt_term_spec master = { "optimizer", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_PARAMETERS, NULL, NULL, "fp32 master copies of the weights" };
	const struct vt_term_spec transient = { "workspace/optimizer", VT_IN(STEP),
		VT_PLAYED_PARAMETERS, NULL, NULL,
		"foreach AdamW: the square roots of all second moments at once" };
	const struct vt_term_spec single = { "workspace/optimizer", VT_IN(STEP),
		VT_PLAYED_PARAMETERS, NULL, NULL, "of one tensor at a time" };
	const char *zero = rest_of_zero(plan, 1);

	if (vt_plan_setting(plan, VT_SET_OFFLOAD) == VT_OFFLOAD_OPTIMIZER)
		return;
	/* Adam's two per parameter are made in the order of the parameters, as these were. */
	if (kind == VT_OPTIMIZER_ADAMW && !*zero && !vt_plan_setting(plan, VT_SET_LORA) &&
	    !vt_plan_setting(plan, VT_SET_FREEZE) && !vt_plan_setting(plan, VT_SET_LOAD))
		vt_plan_add(plan, &tails, "2*tails*o/w");
	vt_plan_add(plan, &spec, *zero ? "(%s)%s" : "%s%s", states[kind].formula, zero);
	if (vt_plan_setting(plan, VT_SET_MASTER))
		vt_plan_add(plan, &master, "Ptrained*4%s", zero);
	if (kind == VT_OPTIMIZER_ADAFACTOR)
		add_adafactor(plan);
	if (kind != VT_OPTIMIZER_ADAMW)
		return;
	if (loop == VT_LOOP_FOREACH)
		vt_plan_add(plan, &transient, "Ptrained*o%s", zero);
	else if (loop == VT_LOOP_SINGLE)
		vt_plan_add(plan, &single, "min(largest, Ptrained)*o%s", zero);
}

int vt_terms_is_casting(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_AUTOCAST) &&
	       (vt_plan_is_training(plan) ||
		(!vt_plan_setting(plan, VT_SET_LORA) && !vt_plan_setting(plan, VT_SET_QUANTISE)));
}

static void add_cast(struct vt_plan *plan)
{
	int is_training = vt_plan_is_training(plan);
	const struct vt_term_spec spec = { "weights/cast",
		(is_training ? VT_IN_TRAINING & ~VT_IN(BACKWARD_BOTTOM) & ~VT_IN(BACKWARD_END) :
			       VT_IN_INFERENCE) &
			~VT_IN(FIRST_LAYER),
		VT_PLAYED_PARAMETERS, NULL, NULL,
		is_training ? "autocast's copies of linear weights, experts aside, which backward "
			      "needs" :
			      "autocast's copies of linear weights, which it keeps until it ends "
			      "(not in torch.inference_mode)" };

	if (vt_terms_is_casting(plan))
		vt_plan_add(plan, &spec, "(Pquantised - Pexperts + V*h/t)*e");
}

void vt_terms_states(struct vt_plan *plan)
{
	add_weights(plan);
	add_unread(plan);
	add_buffers(plan);
	add_cast(plan);
	if (!vt_plan_is_training(plan))
		return;
	add_gathered(plan);
	if (vt_plan_setting(plan, VT_SET_LORA))
		add_adapters(plan);
	add_gradients(plan);
	add_optimizer(plan);
}
