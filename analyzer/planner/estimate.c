/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/estimate.h"

#include "analyzer/planner/validation.h"
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

int vt_estimate_make(struct vt_plan *plan, struct vt_diag *diag)
{
	if (vt_validate_model(plan->settings, plan->model, diag))
		return -1;
	plan->stages = stages_of(plan);
	vt_sizes_define(plan);
	vt_terms_states(plan);
	if (!plan->model->is_nominal) {
		vt_terms_cache(plan);
		vt_terms_activations(plan);
		vt_terms_transients(plan);
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
