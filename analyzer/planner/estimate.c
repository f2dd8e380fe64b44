/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/estimate.h"

#include <inttypes.h>

#include "analyzer/planner/sizes.h"
#include "analyzer/planner/terms.h"

static unsigned stages_of(const struct vt_plan *plan)
{
	unsigned stages = VT_IN(LOAD) | VT_IN(FIRST_LAYER) | VT_IN(FORWARD);

	if (plan->model->is_nominal)
		stages = VT_IN(LOAD);
	if (vt_plan_is_training(plan))
		return stages | (plan->model->is_nominal ? 0 : VT_IN(LOSS)) |
		       (plan->model->is_nominal ? 0 : VT_IN_BACKWARD) | VT_IN(STEP);
	if (plan->model->stacks[VT_PART_TEXT].vocabulary &&
	    !plan->model->stacks[VT_PART_TEXT].has_no_head)
		stages |= VT_IN(LOGITS);
	if (vt_plan_setting(plan, VT_SET_NEW_TOKENS))
		stages |= VT_IN(DECODE);
	return stages;
}

/* Ranks share whole heads and whole layers: the frameworks refuse anything else, too. */
static int check_ranks(const struct vt_plan *plan, struct vt_diag *diag)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	uint64_t tensor = (uint64_t)vt_plan_setting(plan, VT_SET_TENSOR);
	uint64_t pipeline = (uint64_t)vt_plan_setting(plan, VT_SET_PIPELINE);

	if (s->heads && s->heads % tensor)
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--tensor-parallel %" PRIu64 ": %" PRIu64
			    " attention heads do not divide by it",
			    tensor, s->heads);
	else if (s->layers && pipeline > s->layers)
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--pipeline-parallel %" PRIu64 ": there are %" PRIu64 " layers",
			    pipeline, s->layers);
	else
		return 0;
	return -1;
}

/* Settings of a part that the model does not have. */
static int check_parts(const struct vt_plan *plan, struct vt_diag *diag)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	int has_tower = plan->model->stacks[VT_PART_VISION].hidden > 0;
	uint64_t factor = (uint64_t)vt_plan_setting(plan, VT_SET_FACTOR);
	int64_t cache = vt_plan_setting(plan, VT_SET_KV_CACHE);
	const char *wrong = NULL;

	if (!has_tower && (vt_plan_setting(plan, VT_SET_FREEZE) || factor > 1 ||
			   vt_plan_setting(plan, VT_SET_TILES) > 1 ||
			   vt_plan_setting(plan, VT_SET_VISION)))
		wrong = "--freeze, --images, --tiles and --factor are of images: MODEL has no "
			"vision part beside text";
	else if (has_tower && plan->model->patch_side % factor)
		wrong = "--factor: the patches of a side do not divide by it";
	else if (s->hidden && !s->kv_rank && (cache == VT_KV_LATENT || cache == VT_KV_EXPANDED))
		wrong = "--kv-cache latent and expanded: MODEL has no latent attention";
	else if (s->hidden && !s->mixer_layers && vt_plan_setting(plan, VT_SET_SCAN))
		wrong = "--scan: MODEL has no state-space layers";
	if (!wrong)
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "%s", wrong);
	return -1;
}

int vt_estimate_make(struct vt_plan *plan, struct vt_diag *diag)
{
	if (check_ranks(plan, diag) || check_parts(plan, diag))
		return -1;
	plan->stages = stages_of(plan);
	vt_sizes_define(plan);
	vt_terms_states(plan);
	if (!plan->model->is_nominal) {
		vt_terms_cache(plan);
		vt_terms_activations(plan);
		vt_terms_bursts(plan);
		vt_terms_vision(plan);
		vt_terms_logits(plan);
	}
	vt_terms_workspace(plan);
	vt_plan_add_up(plan);
	if (!plan->error && vt_plan_peak(plan) < VT_FORMULA_MAX)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s: %s", plan->model->name,
		    plan->error ? plan->error_formula : "the sum",
		    plan->error ? plan->error : "2^53 bytes or more");
	return -1;
}
