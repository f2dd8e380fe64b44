/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_stages_json.h"

#include "analyzer/report/json.h"

static json_t *by_owner(const struct vt_books *books)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < books->nr_lines; i++)
		json_object_set_new(object, books->lines[i].owner,
				    vt_json_integer(books->lines[i].bytes));
	return object;
}

static json_t *stage(const struct vt_report_stage *row)
{
	json_t *object = json_object(), *modules = json_array();

	for (uint32_t i = 0; i < row->nr_modules; i++)
		json_array_append_new(modules, stage(&row->modules[i]));
	json_object_set_new(object, "name", vt_json_text(row->name));
	json_object_set_new(object, "device", json_integer(row->device));
	json_object_set_new(object, "peak_bytes", vt_json_integer(row->peak_bytes));
	json_object_set_new(object, "peak_device_bytes", vt_json_integer(row->peak_device_bytes));
	json_object_set_new(object, "allocated_after_bytes",
			    vt_json_integer(row->allocated_after_bytes));
	json_object_set_new(object, "by_owner", by_owner(&row->after));
	json_object_set_new(object, "modules", modules);
	return object;
}

static void set_iteration(json_t *object, const struct vt_report_iteration *turn)
{
	json_object_set_new(object, "peak_bytes", vt_json_integer(turn->peak_bytes));
	json_object_set_new(object, "peak_device_bytes", vt_json_integer(turn->peak_device_bytes));
	json_object_set_new(object, "end_bytes", vt_json_integer(turn->end_bytes));
}

static json_t *turns(const struct vt_report_iteration *row, uint32_t nr)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < nr; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "index", json_integer(i + 1));
		set_iteration(object, &row[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *step(const struct vt_report_step *row)
{
	json_t *object = json_object();

	json_object_set_new(object, "index", json_integer(row->index));
	json_object_set_new(object, "device", json_integer(row->device));
	set_iteration(object, &row->turn);
	json_object_set_new(object, "complete", json_boolean(row->is_complete));
	json_object_set_new(object, "micro_batches",
			    turns(row->micro_batches, row->nr_micro_batches));
	return object;
}

static json_t *first_step(const struct vt_report_first_step *row)
{
	json_t *object = json_object();

	json_object_set_new(object, "device", json_integer(row->device));
	json_object_set_new(object, "before_by_owner", by_owner(&row->before));
	json_object_set_new(object, "after_by_owner", by_owner(&row->after));
	return object;
}

static json_t *calls(const struct vt_report_calls *row)
{
	json_t *object = json_object(), *prefill = json_object();

	json_object_set_new(object, "module", vt_json_text(row->module));
	json_object_set_new(object, "device", json_integer(row->device));
	set_iteration(prefill, &row->prefill);
	if (row->generation) {
		json_object_set_new(object, "index", json_integer(row->generation));
		json_object_set_new(object, "prefill", json_incref(prefill));
	}
	json_decref(prefill);
	json_object_set_new(object, row->generation ? "decode_steps" : "calls",
			    turns(row->turns, row->nr_iterations));
	json_object_set_new(object, "growth_bytes",
			    row->has_growth ? json_integer(row->growth_bytes) : json_null());
	return object;
}

void vt_report_stages_json_add(const struct vt_report *report, json_t *object)
{
	json_t *stages = json_array(), *steps = json_array(), *first_steps = json_array(),
	       *generations = json_array(), *all_calls = json_array();

	for (uint32_t i = 0; i < report->stages.nr; i++)
		json_array_append_new(stages, stage(&report->stages.rows[i]));
	for (uint32_t i = 0; i < report->turns.nr_steps; i++)
		json_array_append_new(steps, step(&report->turns.steps[i]));
	for (uint32_t i = 0; i < report->turns.nr_first_steps; i++)
		json_array_append_new(first_steps, first_step(&report->turns.first_steps[i]));
	for (uint32_t i = 0; i < report->turns.nr_calls; i++)
		json_array_append_new(report->turns.calls[i].generation ? generations : all_calls,
				      calls(&report->turns.calls[i]));
	json_object_set_new(object, report->options->has_marks ? "marks" : "stages", stages);
	json_object_set_new(object, "steps", steps);
	json_object_set_new(object, "first_steps", first_steps);
	json_object_set_new(object, "generations", generations);
	json_object_set_new(object, "calls", all_calls);
}
