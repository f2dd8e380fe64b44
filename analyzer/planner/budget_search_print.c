/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/budget_search_print.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

#define FORMAT 1

static const char *options_of(const struct vt_budget_search_set *set, char *buf, size_t size)
{
	size_t len = 0;

	snprintf(buf, size, "no change");
	for (unsigned i = 0; i < set->nr_steps && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s--%s %s", len ? " " : "",
					vt_plan_settings_row(set->steps[i].id)->name,
					set->steps[i].value);
	return buf;
}

/* Each reason once: a number of layers has that of checkpointing. */
static const char *costs_of(const struct vt_budget_search *budget,
			    const struct vt_budget_search_set *set, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < set->nr_steps && len < size; i++) {
		const char *cost = set->steps[i].cost;

		if (i && !strcmp(cost, set->steps[i - 1].cost))
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? "; " : "", cost);
	}
	if (set->flops && budget->step_flops && len < size)
		snprintf(buf + len, size - len, ": %.3g FLOPs a step (%+.1f %%)", set->flops,
			 100 * set->flops / budget->step_flops);
	return buf;
}

static void add_set(struct vt_table *table, const struct vt_budget_search *budget,
		    const struct vt_budget_search_set *set)
{
	char options[256], costs[320], peak[32], high[32];

	snprintf(peak, sizeof(peak), "%.2f", set->peak / VT_GIB);
	snprintf(high, sizeof(high), "%.2f", set->high / VT_GIB);
	options_of(set, options, sizeof(options));
	vt_table_add(table, (const char *[]){ options, peak, high, vt_card_fit_text(set->fit),
					      costs_of(budget, set, costs, sizeof(costs)) });
}

static const struct vt_column columns[] = {
	{ "CHANGES", 0 }, { "GiB", 1 }, { "up to", 1 }, { NULL, 0 }, { "costs", 0 },
};

static void print_sets(const struct vt_budget_search *budget,
		       const struct vt_budget_search_set *sets, size_t nr, FILE *out)
{
	struct vt_table table;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++)
		add_set(&table, budget, &sets[i]);
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}

static void print_considered(const struct vt_budget_search *budget, FILE *out)
{
	fprintf(out, "\nconsidered, alone and combined:");
	for (unsigned i = 0; i < budget->nr_considered; i++)
		fprintf(out, "%s --%s %s", i ? "," : "",
			vt_plan_settings_row(budget->considered[i].id)->name,
			budget->considered[i].value);
	fprintf(out, "\n");
}

void vt_budget_search_print_text(const struct vt_budget_search *budget, const struct vt_plan *plan,
				 FILE *out)
{
	double usable = (double)plan->gpu->usable_bytes / VT_GIB;

	if (!budget->sets.len) {
		fprintf(out, "\nno combination of changes fits %.2f GiB; lowest peak found:\n\n",
			usable);
		print_sets(budget, &budget->least, 1, out);
		print_considered(budget, out);
		return;
	}
	fprintf(out, "\nFITS %.2f GiB, cheapest first\n\n", usable);
	print_sets(budget, budget->sets.items, budget->sets.len, out);
	if (!budget->has_nearest)
		return;
	fprintf(out, "\nnext cheaper combination (does not fit):\n\n");
	print_sets(budget, &budget->nearest, 1, out);
}

/* What no integer holds is no step of any machine. */
static json_t *whole(double flops)
{
	return vt_json_rounded(flops < 9e18 ? flops : 9e18);
}

static json_t *steps_of(const struct vt_change_step *steps, unsigned nr)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < nr; i++) {
		json_t *step = vt_json_append_object(array);

		vt_json_set(step, "option", vt_plan_settings_row(steps[i].id)->name);
		vt_json_set(step, "value", steps[i].value);
		vt_json_set(step, "costs", steps[i].cost);
	}
	return array;
}

static json_t *set_of(const struct vt_budget_search *budget, const struct vt_budget_search_set *set)
{
	static const char *const prices[] = {
		[VT_BUDGET_SEARCH_FREE] = "nothing",
		[VT_BUDGET_SEARCH_RECOMPUTE] = "recomputation",
		[VT_BUDGET_SEARCH_ROUND] = "rounding",
		[VT_BUDGET_SEARCH_COPY] = "copies",
	};
	json_t *object = json_object();

	vt_json_set(object, "changes", steps_of(set->steps, set->nr_steps));
	vt_json_set(object, "price", prices[set->price]);
	vt_json_set(object, "recomputed_layers", set->recomputed);
	vt_json_set(object, "recomputed_flops", whole(set->flops));
	vt_json_set(object, "more_computing",
		    budget->step_flops ? set->flops / budget->step_flops : 0.0);
	vt_json_set(object, "peak_bytes", vt_json_rounded(set->peak));
	vt_json_set(object, "high_bytes", vt_json_rounded(set->high));
	vt_json_set(object, "fit", vt_card_fit_text(set->fit));
	return object;
}

void vt_budget_search_print_json(const struct vt_budget_search *budget, const struct vt_plan *plan,
				 FILE *out)
{
	json_t *object = json_object(), *sets = json_array();

	for (size_t i = 0; i < budget->sets.len; i++)
		json_array_append_new(sets, set_of(budget, &budget->sets.items[i]));
	vt_json_set(object, "format", (uint64_t)FORMAT);
	vt_json_set(object, "model", plan->model->name);
	vt_json_set(object, "note", plan->model->note);
	vt_json_set(object, "usable_bytes", plan->gpu->usable_bytes);
	vt_json_set(object, "step_flops", whole(budget->step_flops));
	vt_json_set(object, "sets", sets);
	vt_json_set(object, "next_cheaper",
		    budget->has_nearest ? set_of(budget, &budget->nearest) : json_null());
	vt_json_set(object, "least", set_of(budget, &budget->least));
	vt_json_set(object, "considered", steps_of(budget->considered, budget->nr_considered));
	vt_json_print(object, out);
}
