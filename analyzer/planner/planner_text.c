/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/planner/budget_search_print.h"
#include "analyzer/planner/run_comparison_print.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/card_fit.h"
#include "analyzer/planner/card_table.h"
#include "analyzer/planner/owners.h"
#include "analyzer/planner/plan_replay.h"
#include "analyzer/planner/planner.h"
#include "analyzer/planner/formula_symbols.h"
#include "analyzer/output/table.h"

static const char *gib(char *buf, double bytes)
{
	snprintf(buf, VT_UNITS_MAX, "%.2f", bytes / VT_GIB);
	return buf;
}

static void print_head(const struct vt_plan *plan, FILE *out)
{
	const struct vt_architecture *model = plan->model;
	char buf[VT_UNITS_MAX], word[32];
	uint64_t count = vt_architecture_count(model, NULL, NULL);

	fprintf(out, "%s  %s", model->name, vt_units_count(buf, sizeof(buf), count));
	fprintf(out, " parameters (%.2fB)  %s\n", (double)count / 1e9, model->family);
	fprintf(out, "settings:");
	for (int id = 0; id < VT_NR_SETTINGS; id++)
		if (plan->settings->is_given[id] || id == VT_SET_MODE || id == VT_SET_BATCH ||
		    id == VT_SET_SEQ)
			fprintf(out, " %s=%s", vt_plan_settings_row((enum vt_setting)id)->name,
				vt_plan_settings_text(plan->settings, (enum vt_setting)id, word,
						 sizeof(word)));
	fputc('\n', out);
	if (model->note)
		fprintf(out, "note: %s\n", model->note);
	else if (vt_plan_doubt(plan))
		fprintf(out, "note: %s\n", vt_plan_doubt(plan));
}

static double sum_of_ends(const struct vt_plan_replay *replay)
{
	double sum = 0;

	for (size_t i = 0; i < replay->ends.len; i++)
		sum += replay->ends.items[i].bytes;
	return sum;
}

/* What the allocator takes for it, as far as that can be played. */
static void print_cached(const struct vt_plan *plan, FILE *out)
{
	struct vt_plan_replay replay = { 0 };
	char b[3][VT_UNITS_MAX];

	vt_plan_replay_run(&replay, plan);
	if (replay.is_played)
		fprintf(out,
			"  replay: %s GiB reserved (if the card has enough), %s GiB allocated at "
			"the peak, %s GiB of it unsplit tails; context excluded\n",
			gib(b[0], (double)replay.reserved_bytes),
			gib(b[1], (double)replay.allocated_bytes), gib(b[2], sum_of_ends(&replay)));
	else
		/* tests/planner/compare on the simulator: 2 to 40 %, the median 8 %. */
		fprintf(out,
			"  plus what the allocator caches: 2 to 40 %% of this in measured runs\n");
	vt_plan_replay_release(&replay);
}

static void print_owners(const struct vt_plan *plan, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "owner", 0 }, { "GiB", 1 }, { "low", 1 }, { "high", 1 }, { "%", 1 },
	};
	struct vt_owner_sums sums = { 0 };
	struct vt_table table;
	char b[4][VT_UNITS_MAX];

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	vt_owners_of_stage(plan, plan->peak, &sums);
	for (size_t i = 0; i < sums.len; i++) {
		const struct vt_owner_sum *sum = &sums.items[i];

		snprintf(b[3], sizeof(b[3]), "%.1f", 100 * sum->bytes / vt_plan_peak(plan));
		vt_table_add(&table, (const char *[]){ sum->owner, gib(b[0], sum->bytes),
						       gib(b[1], sum->low), gib(b[2], sum->high),
						       b[3] });
	}
	vt_table_add_line(&table);
	vt_table_add(&table, (const char *[]){ "all", gib(b[0], vt_plan_peak(plan)),
					       gib(b[1], plan->low[plan->peak]),
					       gib(b[2], plan->high[plan->peak]), "100.0" });
	vt_table_print(&table, out, 2);
	print_cached(plan, out);
	vt_table_release(&table);
	vt_vector_release(&sums);
}

static void print_terms(const struct vt_plan *plan, FILE *out)
{
	static const struct vt_column columns[] = { { NULL, 0 }, { NULL, 1 }, { NULL, 0 } };
	struct vt_table table;
	char bytes[VT_UNITS_MAX];

	fprintf(out, "\nFORMULAS  at the peak, in bytes\n");
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];
		char *text;

		if (!(term->stages & 1u << plan->peak))
			continue;
		text = vt_xasprintf("%s = %s", term->formula, term->numbers);
		vt_table_add(&table, (const char *[]){ term->owner, gib(bytes, term->bytes),
						       text });
		free(text);
		text = vt_xasprintf("    %s", term->why);
		vt_table_add(&table, (const char *[]){ "", "", text });
		free(text);
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
}

static void print_stages(const struct vt_plan *plan, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "STAGES", 0 }, { "GiB", 1 }, { "low", 1 }, { "high", 1 }, { NULL, 0 },
	};
	struct vt_table table;
	char b[3][VT_UNITS_MAX];

	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++) {
		const char *name = vt_plan_stage_name((enum vt_plan_stage)stage);

		if (plan->stages & 1u << stage)
			vt_table_add(&table, (const char *[]){
						     name, gib(b[0], plan->bytes[stage]),
						     gib(b[1], plan->low[stage]),
						     gib(b[2], plan->high[stage]),
						     stage == (int)plan->peak ? "peak" : "" });
	}
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}

/* "h100-80g (80 GB)": the vendor's capacity is the only GB in the output. */
static void describe_gpu(const struct vt_gpu *gpu, char *buf, size_t size)
{
	if (gpu->vendor_bytes)
		snprintf(buf, size, "%s (%llu GB)", gpu->name,
			 (unsigned long long)(gpu->vendor_bytes / 1000000000));
	else
		snprintf(buf, size, "%s", gpu->name);
}

static void fill_card(const void *of, const struct vt_gpu *gpu, struct vt_card_row *row)
{
	const struct vt_plan *plan = of;
	const char *fallback = vt_card_fit_fallback(plan, gpu);

	describe_gpu(gpu, row->name, sizeof(row->name));
	row->usable_bytes = (double)gpu->usable_bytes;
	row->headroom_bytes = vt_card_fit_headroom(plan, gpu);
	row->verdict = vt_card_fit_text(vt_card_fit_judge(plan, gpu));
	if (fallback)
		snprintf(row->note, sizeof(row->note), "capability %u.%u: falls back to %s",
			 gpu->capability / 10, gpu->capability % 10, fallback);
}

/* Segments after loading: only a replay knows. */
static void print_load(const struct vt_plan *plan, FILE *out)
{
	struct vt_load load = { 0 };
	char b[2][VT_UNITS_MAX];

	if (plan->model->is_nominal || vt_plan_setting(plan, VT_SET_QUANTISE))
		return;
	vt_formula_symbols_load(plan, &load);
	if (load.reserved_bytes)
		fprintf(out, "after loading, by replay: allocated %s GiB, reserved %s GiB\n",
			gib(b[0], (double)load.allocated_bytes),
			gib(b[1], (double)load.reserved_bytes));
}

static void add_change(struct vt_table *table, const struct vt_change *change)
{
	char b[2][VT_UNITS_MAX], name[96], cost[160];
	const struct vt_change_step *first = &change->steps[0], *second = &change->steps[1];

	snprintf(name, sizeof(name), "--%s %s", vt_plan_settings_row(first->id)->name,
		 first->value);
	snprintf(cost, sizeof(cost), "%s", first->cost);
	if (change->nr_steps > 1) {
		snprintf(name + strlen(name), sizeof(name) - strlen(name), " --%s %s",
			 vt_plan_settings_row(second->id)->name, second->value);
		snprintf(cost + strlen(cost), sizeof(cost) - strlen(cost), "; %s", second->cost);
	}
	vt_table_add(table,
		     (const char *[]){ name, gib(b[0], change->peak), gib(b[1], change->saves),
				       vt_card_fit_text(change->fit), cost });
}

/* What is enough; where nothing is, what saves. */
static void print_ladder(const struct vt_plan *plan, FILE *out)
{
	struct vt_column columns[] = {
		{ "IT WOULD FIT WITH", 0 }, { "GiB", 1 }, { "saves", 1 }, { NULL, 0 },
		{ "costs", 0 },
	};
	struct vt_ladder ladder = { 0 };
	const struct vt_changes *shown = &ladder.singles;
	struct vt_table table;

	if (!plan->gpu)
		return;
	vt_card_fit_ladder(plan, plan->gpu, &ladder);
	if (!ladder.has_enough)
		columns[0].title = "NO TWO CHANGES TOGETHER WOULD FIT";
	else if (vt_card_fit_judge(plan, plan->gpu) == VT_FIT_TIGHT)
		columns[0].title = "NOT TIGHT WITH";
	if (ladder.pairs.len)
		shown = &ladder.pairs;
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown->len; i++)
		if (shown->items[i].is_enough || !ladder.has_enough)
			add_change(&table, &shown->items[i]);
	if (shown->len) {
		fputc('\n', out);
		vt_table_print(&table, out, 0);
	}
	vt_table_release(&table);
	vt_card_fit_ladder_release(&ladder);
}

static void print_peak(const struct vt_plan *plan, FILE *out)
{
	char b[VT_UNITS_MAX];

	fprintf(out, "\nPEAK  %s GiB in \"%s\"", gib(b, vt_plan_peak(plan)),
		vt_plan_stage_name(plan->peak));
	if (plan->gpu)
		fprintf(out, "; %s has %s GiB", plan->gpu->name,
			gib(b, (double)plan->gpu->usable_bytes));
	fputc('\n', out);
}

static void print_sweep(const struct vt_planner_request *request,
			const struct vt_sweep_points *points, FILE *out)
{
	const struct vt_setting_row *row = vt_plan_settings_row(request->sweep->id);
	const struct vt_column columns[] = {
		{ row->name, 0 }, { "GiB", 1 }, { "saves", 1 }, { "%", 1 }, { "peak in", 0 },
		{ NULL, 0 },
	};
	size_t best = vt_sweep_best(points);
	struct vt_table table;
	char b[3][VT_UNITS_MAX];

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < points->len; i++) {
		const struct vt_sweep_point *point = &points->items[i];
		double saved = points->items[0].peak - point->peak;

		snprintf(b[2], sizeof(b[2]), "%.1f", 100 * saved / points->items[0].peak);
		vt_table_add(&table, (const char *[]){ point->value, gib(b[0], point->peak),
						       gib(b[1], saved), b[2],
						       vt_plan_stage_name(point->stage),
						       i == best ? "least" : "" });
	}
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
	if (row->changes_results)
		fprintf(out, "note: --%s changes results, not only memory\n", row->name);
}

static int text_sweep(const struct vt_planner_request *request, FILE *out, struct vt_diag *diag)
{
	struct vt_sweep_points points = { 0 };
	int rc = vt_sweep_run(request->sweep, request->model, &request->settings,
			      request->gpu, &points, diag);

	if (!rc)
		print_sweep(request, &points, out);
	vt_vector_release(&points);
	return rc;
}

static int text_against(const struct vt_planner_request *request, const struct vt_plan *plan,
			FILE *out, struct vt_diag *diag)
{
	struct vt_run_comparison against;
	int rc = vt_run_comparison_init(&against, plan, request->against, diag);

	if (!rc) {
		print_head(plan, out);
		vt_run_comparison_print_text(&against, out);
	}
	vt_run_comparison_release(&against);
	return rc;
}

int vt_planner_text_print(const struct vt_planner_request *request, FILE *out, struct vt_diag *diag)
{
	struct vt_plan plan = { .model = request->model, .settings = &request->settings,
				.gpu = request->gpu, .is_explained = 1 };
	int rc;

	if (request->sweep)
		return text_sweep(request, out, diag);
	rc = vt_estimate_make(&plan, diag);
	if (!rc && request->against) {
		rc = text_against(request, &plan, out, diag);
	} else if (!rc && request->budget) {
		vt_budget_search_search(request->budget, &plan);
		print_head(&plan, out);
		print_peak(&plan, out);
		vt_budget_search_print_text(request->budget, &plan, out);
	} else if (!rc) {
		print_head(&plan, out);
		print_peak(&plan, out);
		fputc('\n', out);
		print_owners(&plan, out);
		print_terms(&plan, out);
		print_stages(&plan, out);
		print_load(&plan, out);
		vt_card_table_print(plan.gpu, fill_card, &plan, out);
		print_ladder(&plan, out);
	}
	vt_plan_release(&plan);
	return rc;
}
