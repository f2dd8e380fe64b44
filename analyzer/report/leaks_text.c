/* SPDX-License-Identifier: MIT */
#include "analyzer/report/leaks_report.h"

#include <inttypes.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"

#define MAX_FRAMES  6 /* of one place; --json has all */
#define MAX_HOLDERS 3

static const char *signed_bytes(char *text, double bytes)
{
	int64_t rounded = (int64_t)(bytes + (bytes < 0 ? -0.5 : 0.5));

	return vt_units_bytes_signed(text, VT_UNITS_MAX, rounded);
}

static void print_frames(struct vt_leaks *leaks, const struct vt_allocation *a, FILE *out)
{
	struct vt_lines lines = vt_producer_lines(&leaks->describe, a);

	for (unsigned i = 0; i < lines.nr && i < MAX_FRAMES; i++)
		fprintf(out, "       %s\n", lines.text[i]);
	if (!lines.nr)
		fputs("       (no stack)\n", out);
	vt_lines_free(&lines);
}

static const struct vt_allocation *made(const struct vt_leaks *leaks, const struct vt_leak *leak)
{
	return &leaks->attribution->facts->model->allocations[leak->allocation];
}

static const char *owner_of(const struct vt_leaks *leaks, const struct vt_leak *leak)
{
	return vt_attribution_owner(leaks->attribution, leak->owner);
}

static void print_holders(const struct vt_leak *leak, FILE *out)
{
	for (uint32_t i = 0; i < leak->nr_holders && i < MAX_HOLDERS; i++)
		fprintf(out, "     held by %s\n", leak->holders[i].path);
}

static void print_iterations(const struct vt_leaks *leaks, FILE *out)
{
	const struct vt_iterations *iterations = &leaks->iterations;
	const char *name = vt_model_text(leaks->attribution->facts->model, iterations->name);

	fprintf(out, "LEAKS  %u %s%s%s%s", iterations->nr,
		iterations->nr == 1 ? vt_iterations_words[iterations->kind]
			       : vt_iterations_plurals[iterations->kind],
		iterations->name && name ? " \"" : "", iterations->name && name ? name : "",
		iterations->name && name ? "\"" : "");
	if (leaks->nr_points)
		fprintf(out, ", of which %u are warm-up", leaks->nr_warm_up);
	fputc('\n', out);
}

static void print_totals(const struct vt_leaks *leaks, FILE *out)
{
	const char *word = vt_iterations_words[leaks->iterations.kind];

	for (uint32_t i = 0; i < leaks->nr_totals; i++) {
		const struct vt_leak_total *total = &leaks->totals[i];
		char allocated[VT_UNITS_MAX], reserved[VT_UNITS_MAX];

		fprintf(out, "  cuda:%d  allocated %s/%s, reserved %s/%s%s\n", total->device,
			signed_bytes(allocated, total->allocated_per_iteration), word,
			signed_bytes(reserved, total->reserved_per_iteration), word,
			total->reserved_per_iteration > 0 && total->allocated_per_iteration <= 0
				? ": fragmentation, see vtrace frag"
				: "");
	}
}

static void print_growth(struct vt_leaks_report *report, FILE *out)
{
	struct vt_leaks *leaks = &report->leaks;
	const char *word = vt_iterations_words[leaks->iterations.kind];
	char bytes[VT_UNITS_MAX], slope[VT_UNITS_MAX], noise[VT_UNITS_MAX];

	if (!leaks->nr_growth) {
		fputs("\nno call site grows\n", out);
		return;
	}
	fprintf(out, "\nGROWTH  %s/%s at %u call site%s\n",
		vt_units_bytes_signed(slope, sizeof(slope),
				      (int64_t)vt_leaks_report_growth(report)),
		word, leaks->nr_growth, leaks->nr_growth == 1 ? "" : "s");
	for (uint32_t i = 0; i < leaks->nr_growth && i < report->top; i++) {
		const struct vt_leak *leak = &leaks->growth[i];

		fprintf(out, "  %u  %s/%s  %s, %s in %u block%s since %s %u\n", i + 1,
			signed_bytes(slope, leak->bytes_per_iteration), word, owner_of(leaks, leak),
			vt_units_bytes(bytes, sizeof(bytes), leak->bytes), leak->blocks,
			leak->blocks == 1 ? "" : "s", word, leak->first_iteration);
		print_frames(leaks, made(leaks, leak), out);
		print_holders(leak, out);
		fprintf(out,
			"     confidence %s (%u points, noise %s, %.0f %% of pairs increasing)%s\n",
			vt_trend_confidences[leak->trend.confidence], leak->trend.nr_points,
			vt_units_bytes(noise, sizeof(noise), (uint64_t)leak->trend.noise),
			100 * leak->trend.consistency,
			leak->form == VT_LEAK_GROWING ? "; replaced by a larger block each time"
						      : "");
	}
	if (leaks->nr_growth > report->top)
		fprintf(out, "  and %u more\n", leaks->nr_growth - report->top);
}

static void print_list(struct vt_leaks_report *report, const struct vt_leak *all, uint32_t nr,
		       FILE *out)
{
	struct vt_leaks *leaks = &report->leaks;
	const char *word = vt_iterations_words[leaks->iterations.kind];
	char bytes[VT_UNITS_MAX];

	for (uint32_t i = 0; i < nr && i < report->top; i++) {
		fprintf(out, "  %u  %s in %u block%s, %s", i + 1,
			vt_units_bytes(bytes, sizeof(bytes), all[i].bytes), all[i].blocks,
			all[i].blocks == 1 ? "" : "s", owner_of(leaks, &all[i]));
		if (all[i].first_iteration)
			fprintf(out, ", %s %u", word, all[i].first_iteration);
		if (all[i].last_iteration > all[i].first_iteration)
			fprintf(out, "..%u", all[i].last_iteration);
		fputc('\n', out);
		print_frames(leaks, made(leaks, &all[i]), out);
		print_holders(&all[i], out);
	}
	if (nr > report->top)
		fprintf(out, "  and %u more\n", nr - report->top);
}

static void print_by_design(const struct vt_leftovers *leftovers, FILE *out)
{
	char bytes[VT_UNITS_MAX];
	unsigned nr = 0;

	fprintf(out, "\nnot listed, kept by design: %s",
		vt_units_bytes(bytes, sizeof(bytes), leftovers->on_purpose_bytes));
	for (unsigned i = 0; i < VT_LEFTOVERS_NR_ON_PURPOSE; i++)
		if (leftovers->has_on_purpose[i])
			fprintf(out, "%s%s", nr++ ? ", " : " (", vt_leftovers_on_purpose[i]);
	fputs(")\n", out);
}

void vt_leaks_report_print_text(struct vt_leaks_report *report, FILE *out)
{
	struct vt_leaks *leaks = &report->leaks;
	char bytes[VT_UNITS_MAX];

	print_iterations(leaks, out);
	if (leaks->nr_points) {
		print_totals(leaks, out);
		print_growth(report, out);
	}
	if (leaks->nr_since) {
		fprintf(out,
			"\nKEPT  allocated after the warm-up, live at the end of the last %s\n",
			vt_iterations_words[leaks->iterations.kind]);
		print_list(report, leaks->since, leaks->nr_since, out);
	}
	if (leaks->leftovers.nr) {
		fputs("\nNEVER FREED  live when the program ended\n", out);
		print_list(report, leaks->leftovers.items, leaks->leftovers.nr, out);
	}
	if (leaks->leftovers.on_purpose_bytes)
		print_by_design(&leaks->leftovers, out);
	if (leaks->leftovers.interrupted_bytes)
		fprintf(out, "\nstill live because the run failed: %s\n",
			vt_units_bytes(bytes, sizeof(bytes), leaks->leftovers.interrupted_bytes));
	if (report->notes.nr)
		fputc('\n', out);
	for (unsigned i = 0; i < report->notes.nr; i++)
		fprintf(out, "note: %s\n", report->notes.text[i]);
}
