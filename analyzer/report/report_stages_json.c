/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_stages_json.h"

#include "analyzer/output/json.h"

static json_t *by_owner(const struct vt_books *books)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < books->nr_lines; i++)
		vt_json_set(object, books->lines[i].owner, books->lines[i].bytes);
	return object;
}

static json_t *stage(const struct vt_report_stage *row)
{
	json_t *object = json_object(), *modules = json_array();

	for (uint32_t i = 0; i < row->nr_modules; i++)
		json_array_append_new(modules, stage(&row->modules[i]));
	vt_json_set(object, "name", row->name);
	vt_json_set(object, "device", row->device);
	vt_json_set(object, "peak_bytes", row->peak_bytes);
	vt_json_set(object, "peak_device_bytes", row->peak_device_bytes);
	vt_json_set(object, "allocated_after_bytes", row->allocated_after_bytes);
	vt_json_set(object, "by_owner", by_owner(&row->after));
	vt_json_set(object, "modules", modules);
	return object;
}

static void set_iteration(json_t *object, const struct vt_report_iteration *iteration)
{
	vt_json_set(object, "peak_bytes", iteration->peak_bytes);
	vt_json_set(object, "peak_device_bytes", iteration->peak_device_bytes);
	vt_json_set(object, "end_bytes", iteration->end_bytes);
}

static json_t *iterations(const struct vt_report_iteration *row, uint32_t nr)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < nr; i++) {
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "index", i + 1);
		set_iteration(object, &row[i]);
	}
	return array;
}

static json_t *step(const struct vt_report_step *row)
{
	json_t *object = json_object();

	vt_json_set(object, "index", row->index);
	vt_json_set(object, "device", row->device);
	set_iteration(object, &row->iteration);
	vt_json_set(object, "complete", json_boolean(row->is_complete));
	vt_json_set(object, "micro_batches", iterations(row->micro_batches, row->nr_micro_batches));
	return object;
}

static json_t *first_step(const struct vt_report_first_step *row)
{
	json_t *object = json_object();

	vt_json_set(object, "device", row->device);
	vt_json_set(object, "before_by_owner", by_owner(&row->before));
	vt_json_set(object, "after_by_owner", by_owner(&row->after));
	return object;
}

static json_t *calls(const struct vt_report_calls *row)
{
	json_t *object = json_object(), *prefill = json_object();

	vt_json_set(object, "module", row->module);
	vt_json_set(object, "device", row->device);
	set_iteration(prefill, &row->prefill);
	if (row->generation) {
		vt_json_set(object, "index", row->generation);
		vt_json_set(object, "prefill", json_incref(prefill));
	}
	json_decref(prefill);
	vt_json_set(object, row->generation ? "decode_steps" : "calls",
		    iterations(row->iterations, row->nr_iterations));
	vt_json_set_if(object, "growth_bytes", row->has_growth, row->growth_bytes);
	return object;
}

void vt_report_stages_json_add(const struct vt_report *report, json_t *object)
{
	json_t *stages = json_array(), *steps = json_array(), *first_steps = json_array(),
	       *generations = json_array(), *all_calls = json_array();

	for (uint32_t i = 0; i < report->stages.nr; i++)
		json_array_append_new(stages, stage(&report->stages.rows[i]));
	for (uint32_t i = 0; i < report->iterations.nr_steps; i++)
		json_array_append_new(steps, step(&report->iterations.steps[i]));
	for (uint32_t i = 0; i < report->iterations.nr_first_steps; i++)
		json_array_append_new(first_steps, first_step(&report->iterations.first_steps[i]));
	for (uint32_t i = 0; i < report->iterations.nr_calls; i++) {
		const struct vt_report_calls *row = &report->iterations.calls[i];

		json_array_append_new(row->generation ? generations : all_calls, calls(row));
	}
	vt_json_set(object, report->options->has_marks ? "marks" : "stages", stages);
	vt_json_set(object, "steps", steps);
	vt_json_set(object, "first_steps", first_steps);
	vt_json_set(object, "generations", generations);
	vt_json_set(object, "calls", all_calls);
}
