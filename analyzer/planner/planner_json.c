/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyzer/planner/budget_search_print.h"
#include "analyzer/planner/run_comparison_print.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/card_fit.h"
#include "analyzer/planner/owners.h"
#include "analyzer/planner/plan_replay.h"
#include "analyzer/planner/planner.h"
#include "analyzer/planner/formula_symbols.h"
#include "analyzer/output/json.h"

#define FORMAT 1

static void set_range(json_t *object, double bytes, double low, double high)
{
	vt_json_set(object, "bytes", vt_json_rounded(bytes));
	vt_json_set(object, "low_bytes", vt_json_rounded(low));
	vt_json_set(object, "high_bytes", vt_json_rounded(high));
}

static json_t *model_of(const struct vt_plan *plan)
{
	json_t *object = json_object();

	vt_json_set(object, "name", plan->model->name);
	vt_json_set(object, "family", plan->model->family);
	vt_json_set(object, "parameters", vt_architecture_count(plan->model, NULL, NULL));
	vt_json_set(object, "note", plan->model->note ? plan->model->note : vt_plan_doubt(plan));
	vt_json_set(object, "is_guessed", json_boolean(vt_plan_is_guessed(plan)));
	vt_json_set(object, "has_guessed_parameters", json_boolean(plan->model->is_guessed));
	return object;
}

static json_t *settings_of(const struct vt_plan *plan)
{
	json_t *object = json_object();
	char word[32];

	for (int id = 0; id < VT_NR_SETTINGS; id++)
		vt_json_set(object, vt_plan_settings_row((enum vt_setting)id)->name,
			    vt_plan_settings_text(plan->settings, (enum vt_setting)id, word,
						  sizeof(word)));
	return object;
}

static json_t *symbols_of(const struct vt_plan *plan)
{
	json_t *object = json_object();

	for (size_t i = 0; i < plan->symbols.len; i++)
		vt_json_set(object, plan->symbols.items[i].name, plan->symbols.items[i].value);
	return object;
}

static json_t *owners_of(const struct vt_plan *plan, enum vt_plan_stage stage)
{
	struct vt_owner_sums sums = { 0 };
	json_t *array = json_array();

	vt_owners_of_stage(plan, stage, &sums);
	for (size_t i = 0; i < sums.len; i++) {
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "owner", sums.items[i].owner);
		set_range(object, sums.items[i].bytes, sums.items[i].low, sums.items[i].high);
	}
	vt_vector_release(&sums);
	return array;
}

static json_t *stages_of(const struct vt_plan *plan)
{
	json_t *array = json_array();

	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++) {
		json_t *object;

		if (!(plan->stages & 1u << stage))
			continue;
		object = json_object();
		vt_json_set(object, "name", vt_plan_stage_name((enum vt_plan_stage)stage));
		set_range(object, plan->bytes[stage], plan->low[stage], plan->high[stage]);
		vt_json_set(object, "owners", owners_of(plan, (enum vt_plan_stage)stage));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *term_of(const struct vt_term *term)
{
	json_t *object = json_object(), *stages = json_array();

	vt_json_set(object, "owner", term->owner);
	vt_json_set(object, "name", term->name);
	set_range(object, term->bytes, term->low, term->high);
	vt_json_set(object, "formula", term->formula);
	vt_json_set(object, "numbers", term->numbers);
	vt_json_set(object, "why", term->why);
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		if (term->stages & 1u << stage)
			vt_json_append(stages, vt_plan_stage_name((enum vt_plan_stage)stage));
	vt_json_set(object, "stages", stages);
	return object;
}

static json_t *terms_of(const struct vt_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->terms.len; i++)
		json_array_append_new(array, term_of(&plan->terms.items[i]));
	return array;
}

static json_t *gpu_of(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	json_t *object = json_object();

	vt_json_set(object, "name", gpu->name);
	vt_json_set(object, "usable_bytes", gpu->usable_bytes);
	vt_json_set(object, "vendor_bytes", gpu->vendor_bytes);
	vt_json_set_if(object, "capability", gpu->capability, gpu->capability / 10.0);
	vt_json_set(object, "headroom_bytes", vt_json_rounded(vt_card_fit_headroom(plan, gpu)));
	vt_json_set(object, "fit", vt_card_fit_text(vt_card_fit_judge(plan, gpu)));
	vt_json_set(object, "falls_back_to", vt_card_fit_fallback(plan, gpu));
	return object;
}

static json_t *gpus_of(const struct vt_plan *plan)
{
	json_t *array = json_array();
	struct vt_gpu gpu;

	if (plan->gpu)
		json_array_append_new(array, gpu_of(plan, plan->gpu));
	for (size_t i = 0; !plan->gpu && !vt_gpus_at(i, &gpu); i++)
		json_array_append_new(array, gpu_of(plan, &gpu));
	return array;
}

static json_t *load_of(const struct vt_plan *plan)
{
	struct vt_load load = { 0 };
	json_t *object = json_object();

	if (!plan->model->is_nominal && !vt_plan_setting(plan, VT_SET_QUANTISE))
		vt_formula_symbols_load(plan, &load);
	vt_json_set(object, "allocated_bytes", load.allocated_bytes);
	vt_json_set(object, "reserved_bytes", load.reserved_bytes);
	return object;
}

static json_t *replay_of(const struct vt_plan *plan)
{
	struct vt_plan_replay replay = { 0 };
	json_t *object = json_object(), *ends = json_array();

	vt_plan_replay_run(&replay, plan);
	vt_json_set(object, "allocated_bytes", replay.allocated_bytes);
	vt_json_set(object, "reserved_bytes", replay.reserved_bytes);
	for (size_t i = 0; i < replay.ends.len; i++) {
		json_t *one = vt_json_append_object(ends);

		vt_json_set(one, "owner", replay.ends.items[i].owner);
		vt_json_set(one, "bytes", vt_json_rounded(replay.ends.items[i].bytes));
	}
	vt_json_set(object, "ends", ends);
	if (!replay.is_played) {
		json_decref(object);
		object = json_null();
	}
	vt_plan_replay_release(&replay);
	return object;
}

static void set_step(json_t *object, const struct vt_change_step *step)
{
	vt_json_set(object, "option", vt_plan_settings_row(step->id)->name);
	vt_json_set(object, "value", step->value);
	vt_json_set(object, "costs", step->cost);
}

static json_t *change_of(const struct vt_change *change)
{
	json_t *object = json_object(), *steps, *step;

	vt_json_set(object, "peak_bytes", vt_json_rounded(change->peak));
	vt_json_set(object, "saves_bytes", vt_json_rounded(change->saves));
	vt_json_set(object, "fit", vt_card_fit_text(change->fit));
	vt_json_set(object, "is_enough", json_boolean(change->is_enough));
	if (change->nr_steps == 1) {
		set_step(object, &change->steps[0]);
		return object;
	}
	steps = json_array();
	for (unsigned i = 0; i < change->nr_steps; i++) {
		step = json_object();
		set_step(step, &change->steps[i]);
		json_array_append_new(steps, step);
	}
	vt_json_set(object, "changes", steps);
	return object;
}

static json_t *changes_of(const struct vt_changes *changes)
{
	json_t *array = json_array();

	for (size_t i = 0; i < changes->len; i++)
		json_array_append_new(array, change_of(&changes->items[i]));
	return array;
}

static void set_ladder(json_t *object, const struct vt_plan *plan)
{
	struct vt_ladder ladder = { 0 };

	if (plan->gpu)
		vt_card_fit_ladder(plan, plan->gpu, &ladder);
	vt_json_set(object, "ladder", changes_of(&ladder.singles));
	vt_json_set(object, "pairs", changes_of(&ladder.pairs));
	vt_card_fit_ladder_release(&ladder);
}

static json_t *plan_of(const struct vt_plan *plan)
{
	json_t *object = json_object(), *peak = json_object();

	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "model", model_of(plan));
	vt_json_set(object, "settings", settings_of(plan));
	vt_json_set(object, "symbols", symbols_of(plan));
	vt_json_set(peak, "stage", vt_plan_stage_name(plan->peak));
	set_range(peak, vt_plan_peak(plan), plan->low[plan->peak], plan->high[plan->peak]);
	vt_json_set(peak, "owners", owners_of(plan, plan->peak));
	vt_json_set(object, "peak", peak);
	vt_json_set(object, "stages", stages_of(plan));
	vt_json_set(object, "terms", terms_of(plan));
	vt_json_set(object, "load", load_of(plan));
	vt_json_set(object, "replay", replay_of(plan));
	vt_json_set(object, "gpus", gpus_of(plan));
	set_ladder(object, plan);
	return object;
}

static json_t *sweep_of(const struct vt_planner_request *request,
			const struct vt_sweep_points *points)
{
	const struct vt_setting_row *row = vt_plan_settings_row(request->sweep->id);
	json_t *object = json_object(), *array = json_array();

	for (size_t i = 0; i < points->len; i++) {
		const struct vt_sweep_point *point = &points->items[i];
		json_t *one = vt_json_append_object(array);

		vt_json_set(one, "value", point->value);
		vt_json_set(one, "peak_bytes", vt_json_rounded(point->peak));
		vt_json_set(one, "saves_bytes",
			    vt_json_rounded(points->items[0].peak - point->peak));
		vt_json_set(one, "stage", vt_plan_stage_name(point->stage));
	}
	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "option", row->name);
	vt_json_set(object, "changes_results", json_boolean(row->changes_results));
	vt_json_set(object, "points", array);
	vt_json_set(object, "least", vt_sweep_best(points));
	return object;
}

static int json_sweep(const struct vt_planner_request *request, FILE *out, struct vt_diag *diag)
{
	struct vt_sweep_points points = { 0 };
	int rc = vt_sweep_run(request->sweep, request->model, &request->settings,
			      request->gpu, &points, diag);

	if (!rc)
		vt_json_print(sweep_of(request, &points), out);
	vt_vector_release(&points);
	return rc;
}

static int json_against(const struct vt_planner_request *request, const struct vt_plan *plan,
			FILE *out, struct vt_diag *diag)
{
	struct vt_run_comparison against;
	int rc = vt_run_comparison_init(&against, plan, request->against, diag);
	json_t *object;

	if (!rc) {
		object = plan_of(plan);
		vt_json_set(object, "against", vt_run_comparison_print_json(&against));
		vt_json_print(object, out);
	}
	vt_run_comparison_release(&against);
	return rc;
}

int vt_planner_json_print(const struct vt_planner_request *request, FILE *out, struct vt_diag *diag)
{
	struct vt_plan plan = { .model = request->model, .settings = &request->settings,
				.gpu = request->gpu, .is_explained = 1 };
	int rc;

	if (request->sweep)
		return json_sweep(request, out, diag);
	rc = vt_estimate_make(&plan, diag);
	if (!rc && request->against) {
		rc = json_against(request, &plan, out, diag);
	} else if (!rc && request->budget) {
		vt_budget_search_search(request->budget, &plan);
		vt_budget_search_print_json(request->budget, &plan, out);
	} else if (!rc) {
		vt_json_print(plan_of(&plan), out);
	}
	vt_plan_release(&plan);
	return rc;
}
