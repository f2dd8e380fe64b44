/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_stages_text.h"

#include <stdlib.h>

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/table.h"
#include "analyzer/report/report_changes.h"

/* Of a long row the first and the last ones are printed. */
#define SHOWN_AT_END 3

static void add_row(struct vt_table *table, const struct vt_report_stage *row,
		    struct vt_report_unit unit, int depth)
{
	char peak[VT_REPORT_FIGURE_MAX], after[VT_REPORT_FIGURE_MAX];
	char *by = vt_report_changes_text(&row->before, &row->after, unit);
	char *name = vt_xasprintf("%*s%s", 2 + 2 * depth, "", row->name);
	const char *cells[] = { name,
				vt_report_sections_figure(peak, unit, (double)row->peak_bytes),
				vt_report_sections_figure(after, unit,
							  (double)row->allocated_after_bytes),
				by };

	vt_table_add(table, cells);
	free(name);
	free(by);
	for (uint32_t i = 0; i < row->nr_modules; i++)
		add_row(table, &row->modules[i], unit, depth + 1);
	if (row->nr_more_modules) {
		name = vt_xasprintf("%*s... %u more", 4 + 2 * depth, "", row->nr_more_modules);
		vt_table_add(table, (const char *[]){ name, "", "", "" });
		free(name);
	}
}

int vt_report_stages_text_table(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out)
{
	char peak_title[32];
	const struct vt_column columns[] = {
		{ report->options->has_marks ? "MARKS" : "STAGES", 0 },
		{ peak_title, 1 },
		{ "allocated after", 1 },
		{ "by", 0 },
	};
	struct vt_table table;
	int is_told;

	snprintf(peak_title, sizeof(peak_title), "allocated peak %s", unit.name);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < report->stages.nr; i++)
		if (report->stages.rows[i].device == device)
			add_row(&table, &report->stages.rows[i], unit, 0);
	/* One stage, whatever it is called, says no more than the peak above it. */
	is_told = table.nr_rows > !report->options->has_marks;
	if (is_told)
		vt_table_print(&table, out, 0);
	vt_table_release(&table);
	return is_told;
}

/* " 1.25 1.82 1.82 ... 1.82 1.82 1.82": one of a row of `nr`. */
static void print_peak(uint32_t index, uint32_t nr, const struct vt_report_iteration *iteration,
		       struct vt_report_unit unit, FILE *out)
{
	char figure[VT_REPORT_FIGURE_MAX];

	if (index < SHOWN_AT_END || index + SHOWN_AT_END >= nr)
		fprintf(out, " %s",
			vt_report_sections_figure(figure, unit, (double)iteration->peak_bytes));
	else if (index == SHOWN_AT_END)
		fprintf(out, " ...");
}

static void print_growth(int64_t growth, const char *per, FILE *out)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "   growth %s/%s", vt_units_bytes_signed(text, sizeof(text), growth), per);
}

static const struct vt_report_step *find_step(const struct vt_report *report, int device,
					      uint32_t index)
{
	for (uint32_t i = 0; i < report->iterations.nr_steps; i++) {
		const struct vt_report_step *step = &report->iterations.steps[i];

		if (step->device == device && step->index == index)
			return step;
	}
	return NULL;
}

/* Optimizer state appears in the first step: what it left, and how much higher the second is. */
static void print_first_step(const struct vt_report *report, int device, struct vt_report_unit unit,
			     FILE *out)
{
	const struct vt_report_step *first = find_step(report, device, 1);
	const struct vt_report_step *second = find_step(report, device, 2);

	for (uint32_t i = 0; i < report->iterations.nr_first_steps; i++) {
		const struct vt_report_first_step *row = &report->iterations.first_steps[i];
		char *left, figure[VT_REPORT_FIGURE_MAX];

		if (row->device != device || !first || !second ||
		    first->iteration.peak_bytes == second->iteration.peak_bytes)
			continue;
		left = vt_report_changes_text(&row->before, &row->after, unit);
		if (*left && second->iteration.peak_bytes > first->iteration.peak_bytes)
			fprintf(out, "       step 1 peaks %s %s lower; retained after it: %s\n",
				vt_report_sections_figure(figure, unit,
							  (double)(second->iteration.peak_bytes -
								   first->iteration.peak_bytes)),
				unit.name, left);
		free(left);
	}
}

/* The step cut most often, with what it was cut into. */
static void print_micro_batches(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out)
{
	const struct vt_report_step *most = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < report->iterations.nr_steps; i++) {
		const struct vt_report_step *step = &report->iterations.steps[i];

		if (step->device != device)
			continue;
		if (step->is_complete && step->nr_micro_batches < least)
			least = step->nr_micro_batches;
		if (!most || step->nr_micro_batches > most->nr_micro_batches)
			most = step;
	}
	if (!most || most->nr_micro_batches < 2)
		return;
	fprintf(out, "       ");
	if (least < most->nr_micro_batches)
		fprintf(out, "%u to ", least);
	fprintf(out, "%u micro-batches each; in step %u  allocated peak", most->nr_micro_batches,
		most->index);
	for (uint32_t i = 0; i < most->nr_micro_batches; i++)
		print_peak(i, most->nr_micro_batches, &most->micro_batches[i], unit, out);
	fprintf(out, " %s\n", unit.name);
}

int vt_report_stages_text_steps(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out)
{
	uint32_t nr = report->analysis->stages.steps.nr;
	int is_unfinished = 0;
	int64_t growth;

	if (!nr)
		return 0;
	if (nr == 1)
		fprintf(out, "STEP  1  allocated peak");
	else
		fprintf(out, "STEPS  1..%u  allocated peak", nr);
	for (uint32_t i = 0; i < report->iterations.nr_steps; i++) {
		const struct vt_report_step *step = &report->iterations.steps[i];

		if (step->device != device)
			continue;
		is_unfinished |= !step->is_complete;
		print_peak(step->index - 1, nr, &step->iteration, unit, out);
	}
	fprintf(out, " %s", unit.name);
	if (vt_report_iterations_step_growth(&report->iterations, device, &growth))
		print_growth(growth, "step", out);
	fprintf(out, "%s\n",
		!is_unfinished ? ""
		: nr == 1      ? "   incomplete"
			       : "   the last step is incomplete");
	print_first_step(report, device, unit, out);
	print_micro_batches(report, device, unit, out);
	return 1;
}

static void print_iterations(const struct vt_report_calls *calls, struct vt_report_unit unit,
			     FILE *out)
{
	for (uint32_t i = 0; i < calls->nr_iterations; i++)
		print_peak(i, calls->nr_iterations, &calls->iterations[i], unit, out);
	fprintf(out, " %s", unit.name);
}

/* "GENERATION 1  Llama  allocated peak: prefill 1.37, decode steps 1..23 1.20 1.20 ... GiB" */
static void print_generation(const struct vt_report_calls *calls, struct vt_report_unit unit,
			     FILE *out)
{
	char figure[VT_REPORT_FIGURE_MAX];

	fprintf(out, "GENERATION %u  %s  allocated peak: prefill %s", calls->generation,
		calls->module ? calls->module : "?",
		vt_report_sections_figure(figure, unit, (double)calls->prefill.peak_bytes));
	if (!calls->nr_iterations) {
		fprintf(out, " %s\n", unit.name);
		return;
	}
	fprintf(out, ", decode steps 1..%u", calls->nr_iterations);
	print_iterations(calls, unit, out);
	if (calls->has_growth)
		print_growth(calls->growth_bytes, "decode step", out);
	fputc('\n', out);
}

static void print_calls(const struct vt_report_calls *calls, struct vt_report_unit unit, FILE *out)
{
	fprintf(out, "CALLS  1..%u of %s  allocated peak", calls->nr_iterations,
		calls->module ? calls->module : "?");
	print_iterations(calls, unit, out);
	if (calls->has_growth)
		print_growth(calls->growth_bytes, "call", out);
	fputc('\n', out);
}

int vt_report_stages_text_calls(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out)
{
	uint32_t nr = 0, index = 0;

	for (uint32_t i = 0; i < report->iterations.nr_calls; i++)
		nr += report->iterations.calls[i].device == device;
	for (uint32_t i = 0; i < report->iterations.nr_calls; i++) {
		const struct vt_report_calls *calls = &report->iterations.calls[i];

		if (calls->device != device)
			continue;
		index++;
		if (index == SHOWN_AT_END + 1 && index + SHOWN_AT_END <= nr)
			fprintf(out, "... %u more\n", nr - 2 * SHOWN_AT_END);
		if (index > SHOWN_AT_END && index + SHOWN_AT_END <= nr)
			continue;
		if (calls->generation)
			print_generation(calls, unit, out);
		else
			print_calls(calls, unit, out);
	}
	return nr > 0;
}
