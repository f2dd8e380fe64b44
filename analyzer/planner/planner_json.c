/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyzer/planner/run_comparison_print.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/fit.h"
#include "analyzer/planner/owners.h"
#include "analyzer/planner/plan_replay.h"
#include "analyzer/planner/planner.h"
#include "analyzer/planner/sizes.h"
#include "analyzer/report/json.h"

#define FORMAT 1

/* Whole bytes: halves of a byte come from bits per weight. */
static json_t *bytes_of(double bytes)
{
	return json_integer((json_int_t)(bytes < 0 ? bytes - 0.5 : bytes + 0.5));
}

static void set_range(json_t *object, double bytes, double low, double high)
{
	json_object_set_new(object, "bytes", bytes_of(bytes));
	json_object_set_new(object, "low_bytes", bytes_of(low));
	json_object_set_new(object, "high_bytes", bytes_of(high));
}

static json_t *model_of(const struct vt_plan *plan)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", vt_json_text(plan->model->name));
	json_object_set_new(object, "family", vt_json_text(plan->model->family));
	json_object_set_new(object, "parameters",
			    vt_json_integer(vt_architecture_count(plan->model, NULL, NULL)));
	json_object_set_new(object, "note", vt_json_text(plan->model->note));
	return object;
}

static json_t *settings_of(const struct vt_plan *plan)
{
	json_t *object = json_object();
	char word[32];

	for (int id = 0; id < VT_NR_SETTINGS; id++)
		json_object_set_new(object, vt_plan_settings_row((enum vt_setting)id)->name,
				    vt_json_text(vt_plan_settings_text(plan->settings,
								  (enum vt_setting)id, word,
								  sizeof(word))));
	return object;
}

static json_t *symbols_of(const struct vt_plan *plan)
{
	json_t *object = json_object();

	for (size_t i = 0; i < plan->symbols.len; i++)
		json_object_set_new(object, plan->symbols.items[i].name,
				    json_real(plan->symbols.items[i].value));
	return object;
}

static json_t *owners_of(const struct vt_plan *plan, enum vt_plan_stage stage)
{
	struct vt_owner_sums sums = { 0 };
	json_t *array = json_array();

	vt_owners_of_stage(plan, stage, &sums);
	for (size_t i = 0; i < sums.len; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "owner", vt_json_text(sums.items[i].owner));
		set_range(object, sums.items[i].bytes, sums.items[i].low, sums.items[i].high);
		json_array_append_new(array, object);
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
		json_object_set_new(object, "name",
				    vt_json_text(vt_plan_stage_name((enum vt_plan_stage)stage)));
		set_range(object, plan->bytes[stage], plan->low[stage], plan->high[stage]);
		json_object_set_new(object, "owners", owners_of(plan, (enum vt_plan_stage)stage));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *term_of(const struct vt_term *term)
{
	json_t *object = json_object(), *stages = json_array();

	json_object_set_new(object, "owner", vt_json_text(term->owner));
	set_range(object, term->bytes, term->low, term->high);
	json_object_set_new(object, "formula", vt_json_text(term->formula));
	json_object_set_new(object, "numbers", vt_json_text(term->numbers));
	json_object_set_new(object, "why", vt_json_text(term->why));
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		if (term->stages & 1u << stage)
			json_array_append_new(
				stages,
				vt_json_text(vt_plan_stage_name((enum vt_plan_stage)stage)));
	json_object_set_new(object, "stages", stages);
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

	json_object_set_new(object, "name", vt_json_text(gpu->name));
	json_object_set_new(object, "usable_bytes", vt_json_integer(gpu->usable_bytes));
	json_object_set_new(object, "vendor_bytes", vt_json_integer(gpu->vendor_bytes));
	json_object_set_new(object, "capability",
			    gpu->capability ? json_real(gpu->capability / 10.0) : json_null());
	json_object_set_new(object, "headroom_bytes", bytes_of(vt_fit_headroom(plan, gpu)));
	json_object_set_new(object, "fit", vt_json_text(vt_fit_text(vt_fit_judge(plan, gpu))));
	json_object_set_new(object, "falls_back_to", vt_json_text(vt_fit_fallback(plan, gpu)));
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
		vt_sizes_load(plan, &load);
	json_object_set_new(object, "allocated_bytes", vt_json_integer(load.allocated_bytes));
	json_object_set_new(object, "reserved_bytes", vt_json_integer(load.reserved_bytes));
	return object;
}

static json_t *replay_of(const struct vt_plan *plan)
{
	struct vt_plan_replay replay = { 0 };
	json_t *object = json_object(), *ends = json_array();

	vt_plan_replay_run(&replay, plan);
	json_object_set_new(object, "allocated_bytes", vt_json_integer(replay.allocated_bytes));
	json_object_set_new(object, "reserved_bytes", vt_json_integer(replay.reserved_bytes));
	for (size_t i = 0; i < replay.ends.len; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "owner", vt_json_text(replay.ends.items[i].owner));
		json_object_set_new(one, "bytes", bytes_of(replay.ends.items[i].bytes));
		json_array_append_new(ends, one);
	}
	json_object_set_new(object, "ends", ends);
	if (!replay.is_played) {
		json_decref(object);
		object = json_null();
	}
	vt_plan_replay_release(&replay);
	return object;
}

static void set_step(json_t *object, const struct vt_change_step *step)
{
	json_object_set_new(object, "option", vt_json_text(vt_plan_settings_row(step->id)->name));
	json_object_set_new(object, "value", vt_json_text(step->value));
	json_object_set_new(object, "costs", vt_json_text(step->cost));
}

static json_t *change_of(const struct vt_change *change)
{
	json_t *object = json_object(), *steps, *step;

	json_object_set_new(object, "peak_bytes", bytes_of(change->peak));
	json_object_set_new(object, "saves_bytes", bytes_of(change->saves));
	json_object_set_new(object, "fit", vt_json_text(vt_fit_text(change->fit)));
	json_object_set_new(object, "is_enough", json_boolean(change->is_enough));
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
	json_object_set_new(object, "changes", steps);
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
		vt_fit_ladder(plan, plan->gpu, &ladder);
	json_object_set_new(object, "ladder", changes_of(&ladder.singles));
	json_object_set_new(object, "pairs", changes_of(&ladder.pairs));
	vt_fit_ladder_release(&ladder);
}

static json_t *plan_of(const struct vt_plan *plan)
{
	json_t *object = json_object(), *peak = json_object();

	json_object_set_new(object, "format", json_integer(FORMAT));
	json_object_set_new(object, "model", model_of(plan));
	json_object_set_new(object, "settings", settings_of(plan));
	json_object_set_new(object, "symbols", symbols_of(plan));
	json_object_set_new(peak, "stage", vt_json_text(vt_plan_stage_name(plan->peak)));
	set_range(peak, vt_plan_peak(plan), plan->low[plan->peak], plan->high[plan->peak]);
	json_object_set_new(peak, "owners", owners_of(plan, plan->peak));
	json_object_set_new(object, "peak", peak);
	json_object_set_new(object, "stages", stages_of(plan));
	json_object_set_new(object, "terms", terms_of(plan));
	json_object_set_new(object, "load", load_of(plan));
	json_object_set_new(object, "replay", replay_of(plan));
	json_object_set_new(object, "gpus", gpus_of(plan));
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
		json_t *one = json_object();

		json_object_set_new(one, "value", vt_json_text(point->value));
		json_object_set_new(one, "peak_bytes", bytes_of(point->peak));
		json_object_set_new(one, "saves_bytes",
				    bytes_of(points->items[0].peak - point->peak));
		json_object_set_new(one, "stage", vt_json_text(vt_plan_stage_name(point->stage)));
		json_array_append_new(array, one);
	}
	json_object_set_new(object, "format", json_integer(FORMAT));
	json_object_set_new(object, "option", vt_json_text(row->name));
	json_object_set_new(object, "changes_results", json_boolean(row->changes_results));
	json_object_set_new(object, "points", array);
	json_object_set_new(object, "least", vt_json_integer(vt_sweep_best(points)));
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
	struct vt_comparison against;
	int rc = vt_comparison_init(&against, plan, request->against, diag);
	json_t *object;

	if (!rc) {
		object = plan_of(plan);
		json_object_set_new(object, "against", vt_comparison_print_json(&against));
		vt_json_print(object, out);
	}
	vt_comparison_release(&against);
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
	if (!rc && request->against)
		rc = json_against(request, &plan, out, diag);
	else if (!rc)
		vt_json_print(plan_of(&plan), out);
	vt_plan_release(&plan);
	return rc;
}
