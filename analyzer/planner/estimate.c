/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/estimate.h"

#include <stdio.h>

#include "analyzer/planner/validated.h"
#include "analyzer/planner/validation.h"
#include "analyzer/planner/formula_symbols.h"
#include "analyzer/planner/term_check.h"
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

static double most(const struct vt_plan *plan)
{
	double high = 0;

	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		high = plan->high[stage] > high ? plan->high[stage] : high;
	return high;
}

/* Nobody knows here whether the kernels of state-space layers will be there. */
static void widen_to_scan(struct vt_plan *plan)
{
	enum vt_mixer_kind mixer = plan->model->stacks[VT_PART_TEXT].mixer;
	struct vt_plan_settings settings = *plan->settings;
	struct vt_plan other = { .model = plan->model, .gpu = plan->gpu, .settings = &settings,
				 .load = plan->load };
	char more[32];
	struct vt_term_spec spec = {
		"activations/mixer",
		VT_IN_TRAINING | VT_IN_INFERENCE,
		VT_PLAYED_PASSED_OVER,
		"0",
		more,
		"additional memory of --scan sequential, used if the kernels of state-space layers "
		"are not installed",
		NULL
	};
	struct vt_diag diag = { 0 };

	if (plan->settings->is_given[VT_SET_SCAN] ||
	    (mixer != VT_MIXER_MAMBA && mixer != VT_MIXER_MAMBA2))
		return;
	settings.is_given[VT_SET_SCAN] = 1;
	settings.value[VT_SET_SCAN] = VT_SCAN_SEQUENTIAL;
	if (!vt_estimate_make(&other, &diag) && most(&other) > most(plan)) {
		snprintf(more, sizeof(more), "%.0f", most(&other) - most(plan));
		vt_plan_add(plan, &spec, "0");
		vt_plan_add_up(plan);
	}
	vt_plan_release(&other);
}

int vt_estimate_make(struct vt_plan *plan, struct vt_diag *diag)
{
	if (vt_validate_model(plan->settings, plan->model, diag))
		return -1;
	plan->stages = stages_of(plan);
	vt_formula_symbols_define(plan);
	if (plan->settings->terms &&
	    vt_term_check_symbols(plan->settings->terms, &plan->symbols, diag))
		return -1;
	plan->doubt = vt_validated_doubt(plan);
	vt_terms_add(plan);
	vt_plan_add_up(plan);
	widen_to_scan(plan);
	if (!plan->error && vt_plan_peak(plan) < VT_FORMULA_MAX)
		return 0;
	if (plan->error_file)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s:%u: %s: %s", plan->error_file,
			    plan->error_line, plan->error_formula, plan->error);
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s: %s", plan->model->name,
		    plan->error ? plan->error_formula : "the sum",
		    plan->error ? plan->error : "2^53 bytes or more");
	return -1;
}
