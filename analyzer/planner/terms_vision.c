/* SPDX-License-Identifier: MIT */
/*
 * The vision tower and what joins it to the text.
 */
#include "analyzer/planner/terms.h"

static int is_tower_trained(const struct vt_plan *plan)
{
	return vt_plan_is_training(plan) && !vt_plan_setting(plan, VT_SET_FREEZE) &&
	       !vt_plan_setting(plan, VT_SET_LORA);
}

void vt_terms_vision(struct vt_plan *plan)
{
	const struct vt_term_spec kept = { "activations/vision", VT_IN_WHOLE, VT_PLAYED_STAGED,
		NULL, NULL,
		"the tower trains: two LayerNorms, attention and a plain mlp per layer" };
	const struct vt_term_spec once = { "activations/vision",
		VT_IN(FIRST_LAYER) | (vt_plan_is_training(plan) ? 0 : VT_IN(FORWARD)),
		VT_PLAYED_STAGED, NULL, NULL, "the tower does not train: one layer at a time" };
	const struct vt_term_spec projector = { "activations/projector",
		VT_IN_TRAINING | VT_IN(FORWARD), VT_PLAYED_STAGED, NULL, NULL,
		"patches, and what f*f of them become" };
	const struct vt_term_spec activated = { "activations/projector", VT_IN_TRAINING,
		VT_PLAYED_STAGED, NULL, NULL,
		"the input and the output of the activation between its two layers" };
	const struct vt_term_spec given = { "activations/projector", VT_IN(LOGITS),
		VT_PLAYED_STAGED, NULL, NULL,
		"what images became, which the model's output holds" };

	if (!plan->model->stacks[VT_PART_VISION].hidden)
		return;
	if (is_tower_trained(plan))
		vt_plan_add(plan, &kept, "Lv*Tv*(e*(2*2*hv+4*hv+2*iv)+16+4*av)");
	else
		vt_plan_add(plan, &once, "Tv*e*(2*hv+2*iv)");
	vt_plan_add(plan, &projector, "b*images*patches*hv*e");
	vt_plan_add(plan, &given, "b*max(s-text,0)*h*e");
	/* Nothing before the first adapter keeps anything. */
	if (plan->model->has_projector_mlp && !vt_plan_setting(plan, VT_SET_LORA))
		vt_plan_add(plan, &activated, "2*b*max(s-text,0)*h*e");
}
