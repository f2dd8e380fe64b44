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

	vt_json_set(object, "owner", contributor->owner);
	vt_json_set(object, "bytes", contributor->bytes);
	vt_json_set(object, "base_bytes", contributor->base_bytes);
	vt_json_set(object, "blocks", contributor->blocks);
	vt_json_set(object, "what", contributor->what);
	vt_json_set(object, "file", contributor->file);
	vt_json_set_if(object, "line", contributor->file, contributor->line);
	vt_json_set(object, "stack", lines_json(&contributor->lines));
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

	vt_json_set(object, "limit", row->limit->name);
	vt_json_set(object, "line", row->limit->line);
	vt_json_set(object, "outcome", vt_check_outcomes[row->outcome]);
	vt_json_set(object, "failed", json_boolean(vt_check_is_failed(check, row)));
	vt_json_set(object, "warned", json_boolean(vt_check_is_warned(row)));
	vt_json_set(object, "unit", units[vt_budget_unit(row->limit)]);
	vt_json_set(object, "figure", own_figure_json(row));
	vt_json_set(object, "allowed", figure_json(row, row->most));
	vt_json_set_if(object, "margin", row->outcome != VT_OUTCOME_MISSING,
		       (json_int_t)(row->most - row->figure.value));
	vt_json_set_if(object, "base", is_relative, figure_json(row, row->base));
	vt_json_set_if(object, "spread", is_relative, figure_json(row, row->spread));
	vt_json_set(object, "why", row->why);
	vt_json_set(object, "device", row->device);
	vt_json_set_if(object, "event", row->figure.event, row->figure.event);
	vt_json_set(object, "stage", row->stage);
	vt_json_set_if(object, "step", row->step, row->step);
	for (unsigned i = 0; i < row->contributors.nr; i++)
		json_array_append_new(contributors, contributor_json(&row->contributors.items[i]));
	vt_json_set(object, "places", contributors);
	return object;
}

void vt_check_print_json(const struct vt_check *check, FILE *out)
{
	const struct vt_budget *budget = check->options->budget;
	json_t *object = json_object(), *limits = json_array();

	vt_json_set(object, "format", 1);
	vt_json_set(object, "recording", vt_db_path(check->measure.analysis->db));
	vt_json_set(object, "budget", budget->path);
	vt_json_set(object, "baseline", budget->baseline);
	vt_json_set(object, "failed", check->nr_broken);
	vt_json_set(object, "warned", check->nr_warned);
	vt_json_set(object, "notes", lines_json(&check->notes));
	for (unsigned i = 0; i < check->nr; i++)
		json_array_append_new(limits, vt_check_row_json(check, &check->rows[i]));
	vt_json_set(object, "limits", limits);
	vt_json_print(object, out);
}
