/* SPDX-License-Identifier: MIT */
#include "analyzer/report/leaks_report.h"

#include <string.h>

#include "analyzer/model/producer.h"
#include "analyzer/report/json.h"

static json_t *rounded(double value)
{
	return json_integer((json_int_t)(value + (value < 0 ? -0.5 : 0.5)));
}

static json_t *turn_or_null(uint32_t turn)
{
	return turn ? json_integer(turn) : json_null();
}

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
		json_t *object = json_object();

		json_object_set_new(object, "way", vt_json_text(holder->way));
		json_object_set_new(object, "kinds", kinds_json(holder->kinds));
		json_object_set_new(object, "tensors", json_integer(holder->tensors));
		json_array_append_new(array, object);
	}
	return array;
}

/* What all lists have. */
static json_t *leak_json(const struct vt_leaks *leaks, const struct vt_leak *leak)
{
	const struct vt_model *model = leaks->attribution->facts->model;
	const struct vt_allocation *a = &model->allocations[leak->allocation];
	json_t *object = json_object();

	json_object_set_new(object, "device", json_integer(a->device));
	json_object_set_new(object, "owner",
			    vt_json_text(vt_attribution_owner(leaks->attribution, leak->owner)));
	json_object_set_new(object, "bytes", vt_json_integer(leak->bytes));
	json_object_set_new(object, "blocks", json_integer(leak->blocks));
	json_object_set_new(object, "largest_block", json_integer(a->event));
	json_object_set_new(object, "first_turn", turn_or_null(leak->first_iteration));
	json_object_set_new(object, "last_turn", turn_or_null(leak->last_iteration));
	json_object_set_new(object, "python",
			    vt_json_lines(vt_describe_python(&leaks->describe,
							     vt_producer_stack(model, a))));
	json_object_set_new(object, "native",
			    vt_json_lines(vt_describe_native(&leaks->describe,
							     a->made->native_stack)));
	json_object_set_new(object, "held_by", holders_json(leak));
	return object;
}

static json_t *growth_json(const struct vt_leaks *leaks, const struct vt_leak *leak)
{
	json_t *object = leak_json(leaks, leak);

	json_object_set_new(object, "bytes_per_turn", rounded(leak->bytes_per_iteration));
	json_object_set_new(object, "form", vt_json_text(vt_leak_forms[leak->form]));
	json_object_set_new(object, "confidence",
			    vt_json_text(vt_trend_confidences[leak->trend.confidence]));
	json_object_set_new(object, "points", json_integer(leak->trend.nr_points));
	json_object_set_new(object, "noise_bytes", rounded(leak->trend.noise));
	json_object_set_new(object, "consistency", json_real(leak->trend.consistency));
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

static json_t *turns_json(const struct vt_leaks *leaks)
{
	const struct vt_iterations *turns = &leaks->turns;
	const char *name = vt_model_text(leaks->attribution->facts->model, turns->name);
	json_t *object = json_object();

	json_object_set_new(object, "kind", vt_json_text(vt_iterations_words[turns->kind]));
	json_object_set_new(object, "name", vt_json_text(turns->name ? name : NULL));
	json_object_set_new(object, "count", json_integer(turns->nr));
	json_object_set_new(object, "warm_up", json_integer(leaks->nr_warm_up));
	json_object_set_new(object, "points", json_integer(leaks->nr_points));
	json_object_set_new(object, "duration_ns",
			    turns->duration_ns ? json_integer(turns->duration_ns) : json_null());
	return object;
}

static json_t *totals_json(const struct vt_leaks *leaks)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < leaks->nr_totals; i++) {
		const struct vt_leak_total *total = &leaks->totals[i];
		json_t *object = json_object();

		json_object_set_new(object, "device", json_integer(total->device));
		json_object_set_new(object, "allocated_bytes_per_turn",
				    rounded(total->allocated_per_iteration));
		json_object_set_new(object, "reserved_bytes_per_turn",
				    rounded(total->reserved_per_iteration));
		json_array_append_new(array, object);
	}
	return array;
}

json_t *vt_leaks_report_json(const struct vt_leaks_report *report)
{
	const struct vt_leaks *leaks = &report->leaks;
	json_t *object = json_object(), *notes = json_array();

	for (unsigned i = 0; i < report->notes.nr; i++)
		json_array_append_new(notes, vt_json_text(report->notes.text[i]));
	json_object_set_new(object, "format", json_integer(1));
	json_object_set_new(object, "ended", vt_json_text(report->ended));
	json_object_set_new(object, "turns", turns_json(leaks));
	json_object_set_new(object, "totals", totals_json(leaks));
	json_object_set_new(object, "bytes_per_turn",
			    vt_json_integer(vt_leaks_report_growth(report)));
	json_object_set_new(object, "growth",
			    list_json(leaks, leaks->growth, leaks->nr_growth, growth_json));
	json_object_set_new(object, "kept",
			    list_json(leaks, leaks->since, leaks->nr_since, leak_json));
	json_object_set_new(object, "never_freed",
			    list_json(leaks, leaks->leftovers.items, leaks->leftovers.nr,
				      leak_json));
	json_object_set_new(object, "kept_on_purpose_bytes",
			    vt_json_integer(leaks->leftovers.on_purpose_bytes));
	json_object_set_new(object, "notes", notes);
	return object;
}

void vt_leaks_report_print_json(struct vt_leaks_report *report, FILE *out)
{
	vt_json_print(vt_leaks_report_json(report), out);
}
