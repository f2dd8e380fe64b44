/* SPDX-License-Identifier: MIT */
#include "analyzer/report/leaks_report.h"

#include <string.h>

#include "analyzer/output/json.h"
#include "analyzer/report/stacks_json.h"

/* "variable,list" as an array. */
static json_t *kinds_json(const char *kinds)
{
	json_t *array = json_array();

	while (*kinds) {
		size_t len = strcspn(kinds, ",");

		json_array_append_new(array, json_stringn(kinds, len));
		kinds += len + (kinds[len] == ',');
	}
	return array;
}

static json_t *holders_json(const struct vt_leak *leak)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < leak->nr_holders; i++) {
		const struct vt_holder *holder = &leak->holders[i];
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "path", holder->path);
		vt_json_set(object, "kinds", kinds_json(holder->kinds));
		vt_json_set(object, "tensors", holder->tensors);
	}
	return array;
}

/* What all lists have. */
static json_t *leak_json(const struct vt_leaks *leaks, const struct vt_leak *leak)
{
	const struct vt_model *model = leaks->attribution->facts->model;
	const struct vt_allocation *a = &model->allocations[leak->allocation];
	json_t *object = json_object();

	vt_json_set(object, "device", a->common->device);
	vt_json_set(object, "owner", vt_attribution_owner(leaks->attribution, leak->owner));
	vt_json_set(object, "bytes", leak->bytes);
	vt_json_set(object, "blocks", leak->blocks);
	vt_json_set(object, "largest_block", a->event);
	vt_json_set_if(object, "first_iteration", leak->first_iteration, leak->first_iteration);
	vt_json_set_if(object, "last_iteration", leak->last_iteration, leak->last_iteration);
	vt_stacks_json_set(object, &leaks->describe, a);
	vt_json_set(object, "held_by", holders_json(leak));
	return object;
}

static json_t *growth_json(const struct vt_leaks *leaks, const struct vt_leak *leak)
{
	json_t *object = leak_json(leaks, leak);

	vt_json_set(object, "bytes_per_iteration", vt_json_rounded(leak->bytes_per_iteration));
	vt_json_set(object, "form", vt_leak_forms[leak->form]);
	vt_json_set(object, "confidence", vt_trend_confidences[leak->trend.confidence]);
	vt_json_set(object, "points", leak->trend.nr_points);
	vt_json_set(object, "noise_bytes", vt_json_rounded(leak->trend.noise));
	vt_json_set(object, "consistency", leak->trend.consistency);
	return object;
}

static json_t *list_json(const struct vt_leaks *leaks, const struct vt_leak *all, uint32_t nr,
			 json_t *(*one)(const struct vt_leaks *, const struct vt_leak *))
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < nr; i++)
		json_array_append_new(array, one(leaks, &all[i]));
	return array;
}

static json_t *iterations_json(const struct vt_leaks *leaks)
{
	const struct vt_iterations *iterations = &leaks->iterations;
	const char *name = vt_model_text(leaks->attribution->facts->model, iterations->name);
	json_t *object = json_object();

	vt_json_set(object, "kind", vt_iterations_words[iterations->kind]);
	vt_json_set(object, "name", iterations->name ? name : NULL);
	vt_json_set(object, "count", iterations->nr);
	vt_json_set(object, "warm_up", leaks->nr_warm_up);
	vt_json_set(object, "points", leaks->nr_points);
	vt_json_set_if(object, "duration_ns", iterations->duration_ns, iterations->duration_ns);
	return object;
}

static json_t *totals_json(const struct vt_leaks *leaks)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < leaks->nr_totals; i++) {
		const struct vt_leak_total *total = &leaks->totals[i];
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "device", total->device);
		vt_json_set(object, "allocated_bytes_per_iteration",
			    vt_json_rounded(total->allocated_per_iteration));
		vt_json_set(object, "reserved_bytes_per_iteration",
			    vt_json_rounded(total->reserved_per_iteration));
	}
	return array;
}

json_t *vt_leaks_report_json(const struct vt_leaks_report *report)
{
	const struct vt_leaks *leaks = &report->leaks;
	json_t *object = json_object(), *notes = json_array();

	for (unsigned i = 0; i < report->notes.nr; i++)
		vt_json_append(notes, report->notes.text[i]);
	vt_json_set(object, "format", 1);
	vt_json_set(object, "ended", report->ended);
	vt_json_set(object, "iterations", iterations_json(leaks));
	vt_json_set(object, "totals", totals_json(leaks));
	vt_json_set(object, "bytes_per_iteration", vt_leaks_report_growth(report));
	vt_json_set(object, "growth",
		    list_json(leaks, leaks->growth, leaks->nr_growth, growth_json));
	vt_json_set(object, "kept", list_json(leaks, leaks->since, leaks->nr_since, leak_json));
	vt_json_set(object, "never_freed",
		    list_json(leaks, leaks->leftovers.items, leaks->leftovers.nr, leak_json));
	vt_json_set(object, "kept_on_purpose_bytes", leaks->leftovers.on_purpose_bytes);
	vt_json_set(object, "interrupted_bytes", leaks->leftovers.interrupted_bytes);
	vt_json_set(object, "notes", notes);
	return object;
}

void vt_leaks_report_print_json(struct vt_leaks_report *report, FILE *out)
{
	vt_json_print(vt_leaks_report_json(report), out);
}
