/* SPDX-License-Identifier: MIT */
#include "analyzer/check/check.h"

#include "analyzer/output/json.h"

static json_t *lines_json(const struct vt_lines *lines)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < lines->nr; i++)
		json_array_append_new(array, vt_json_text(lines->text[i]));
	return array;
}

static json_t *contributor_json(const struct vt_contributor *contributor)
{
	json_t *object = json_object();

	json_object_set_new(object, "owner", vt_json_text(contributor->owner));
	json_object_set_new(object, "bytes", vt_json_integer(contributor->bytes));
	json_object_set_new(object, "base_bytes", vt_json_integer(contributor->base_bytes));
	json_object_set_new(object, "blocks", json_integer(contributor->blocks));
	json_object_set_new(object, "what", vt_json_text(contributor->what));
	json_object_set_new(object, "file", vt_json_text(contributor->file));
	json_object_set_new(object, "line",
			    contributor->file ? json_integer(contributor->line) : json_null());
	json_object_set_new(object, "stack", lines_json(&contributor->lines));
	return object;
}

static json_t *figure_json(const struct vt_check_row *row, uint64_t value)
{
	return row->outcome == VT_OUTCOME_MISSING ? json_null() : vt_json_integer(value);
}

/* What is missing in the baseline only is known of this run. */
static json_t *own_figure_json(const struct vt_check_row *row)
{
	return row->figure.why ? json_null() : vt_json_integer(row->figure.value);
}

static const char *const units[] = { [VT_BUDGET_BYTES] = "bytes",
				     [VT_BUDGET_SHARE] = "percent/100",
				     [VT_BUDGET_COUNT] = "count" };

json_t *vt_check_row_json(const struct vt_check *check, const struct vt_check_row *row)
{
	json_t *object = json_object(), *contributors = json_array();
	int is_relative = row->limit->amount.is_relative;

	json_object_set_new(object, "limit", vt_json_text(row->limit->name));
	json_object_set_new(object, "line", json_integer(row->limit->line));
	json_object_set_new(object, "outcome", vt_json_text(vt_check_outcomes[row->outcome]));
	json_object_set_new(object, "failed", json_boolean(vt_check_is_failed(check, row)));
	json_object_set_new(object, "warned", json_boolean(vt_check_is_warned(row)));
	json_object_set_new(object, "unit",
			    vt_json_text(units[vt_budget_unit(row->limit)]));
	json_object_set_new(object, "figure", own_figure_json(row));
	json_object_set_new(object, "allowed", figure_json(row, row->most));
	json_object_set_new(object, "margin",
			    row->outcome == VT_OUTCOME_MISSING ?
				    json_null() :
				    json_integer((json_int_t)(row->most - row->figure.value)));
	json_object_set_new(object, "base", is_relative ? figure_json(row, row->base) :
							  json_null());
	json_object_set_new(object, "spread", is_relative ? figure_json(row, row->spread) :
							    json_null());
	json_object_set_new(object, "why", vt_json_text(row->why));
	json_object_set_new(object, "device", json_integer(row->device));
	json_object_set_new(object, "event",
			    row->figure.event ? json_integer(row->figure.event) : json_null());
	json_object_set_new(object, "stage", vt_json_text(row->stage));
	json_object_set_new(object, "step", row->step ? json_integer(row->step) : json_null());
	for (unsigned i = 0; i < row->contributors.nr; i++)
		json_array_append_new(contributors, contributor_json(&row->contributors.items[i]));
	json_object_set_new(object, "places", contributors);
	return object;
}

void vt_check_print_json(const struct vt_check *check, FILE *out)
{
	const struct vt_budget *budget = check->options->budget;
	json_t *object = json_object(), *limits = json_array();

	json_object_set_new(object, "format", json_integer(1));
	json_object_set_new(object, "recording",
			    vt_json_text(vt_db_path(check->measure.analysis->db)));
	json_object_set_new(object, "budget", vt_json_text(budget->path));
	json_object_set_new(object, "baseline", vt_json_text(budget->baseline));
	json_object_set_new(object, "failed", json_integer(check->nr_broken));
	json_object_set_new(object, "warned", json_integer(check->nr_warned));
	json_object_set_new(object, "notes", lines_json(&check->notes));
	for (unsigned i = 0; i < check->nr; i++)
		json_array_append_new(limits, vt_check_row_json(check, &check->rows[i]));
	json_object_set_new(object, "limits", limits);
	vt_json_print(object, out);
}
