/* SPDX-License-Identifier: MIT */
#include "analyzer/html/leak_rows.h"

#include "analyzer/base/units.h"
#include "analyzer/html/markup.h"
#include "analyzer/model/producer.h"

#define MOST_ROWS    10 /* of each list */
#define MOST_HOLDERS 3

/* The line that made the largest block, its text, and who holds what was made. */
static void print_place(const struct vt_leaks *leaks, const struct vt_leak *leak,
			struct vt_sources *sources, FILE *out)
{
	const struct vt_model *model = leaks->attribution->facts->model;
	const struct vt_allocation *a = &model->allocations[leak->allocation];
	struct vt_lines lines = vt_producer_lines(&leaks->describe, a);
	char *source = vt_sources_made(sources, &leaks->describe, a);
	struct vt_producer producer = vt_producer_of(model, a);
	char *caller = vt_producer_caller(&leaks->describe, &producer);

	fputs("<td><span class=\"line\">", out);
	vt_markup_text(out, lines.nr ? lines.text[0] : "a call site without a stack");
	fputs("</span>", out);
	if (source) {
		fputs("<code class=\"source\">", out);
		vt_markup_text(out, source);
		fputs("</code>", out);
	}
	vt_markup_caller(caller, out);
	for (uint32_t i = 0; i < leak->nr_holders && i < MOST_HOLDERS; i++) {
		fputs("<br>held by ", out);
		vt_markup_text(out, leak->holders[i].path);
	}
	fputc('\n', out);
	free(caller);
	free(source);
	vt_lines_free(&lines);
}

/* The line is repeated for the script, which shows the blocks that were made there. */
static void begin_row(const struct vt_leaks *leaks, const struct vt_leak *leak, FILE *out)
{
	const struct vt_model *model = leaks->attribution->facts->model;
	const char *owner = vt_attribution_owner(leaks->attribution, leak->owner);
	struct vt_lines lines =
		vt_producer_lines(&leaks->describe, &model->allocations[leak->allocation]);

	fputs("<tr data-owner=\"", out);
	vt_markup_text(out, owner);
	fputs("\" data-line=\"", out);
	vt_markup_text(out, lines.nr ? lines.text[0] : "");
	fprintf(out, "\" data-device=\"%d\"><th scope=\"row\">",
		model->allocations[leak->allocation].common->device);
	vt_markup_text(out, owner);
	vt_lines_free(&lines);
}

static void print_row(const struct vt_leaks *leaks, const struct vt_leak *leak, int is_growth,
		      struct vt_sources *sources, FILE *out)
{
	const char *word = vt_iterations_words[leaks->iterations.kind];
	char count[VT_UNITS_MAX];

	begin_row(leaks, leak, out);
	fputs("<td class=\"n\">", out);
	if (is_growth)
		vt_markup_bytes(out, (uint64_t)(leak->bytes_per_iteration + 0.5));
	fputs("<td class=\"n\">", out);
	vt_markup_bytes(out, leak->bytes);
	fprintf(out, "<td class=\"n\">%s<td>", vt_units_count(count, sizeof(count), leak->blocks));
	if (leak->first_iteration)
		fprintf(out, "%s %u", word, leak->first_iteration);
	print_place(leaks, leak, sources, out);
}

static void print_list(const struct vt_leaks *leaks, const char *title, const struct vt_leak *all,
		       uint32_t nr, struct vt_sources *sources, FILE *out)
{
	int is_growth = all == leaks->growth;

	if (!nr)
		return;
	fprintf(out, "<tbody><tr class=\"title\"><th colspan=\"6\" scope=\"rowgroup\">%s\n", title);
	for (uint32_t i = 0; i < nr && i < MOST_ROWS; i++)
		print_row(leaks, &all[i], is_growth, sources, out);
	if (nr > MOST_ROWS)
		fprintf(out, "<tr><td colspan=\"6\">and %u more (vtrace leaks)\n", nr - MOST_ROWS);
}

static void print_iterations(const struct vt_leaks *leaks, FILE *out)
{
	const struct vt_iterations *iterations = &leaks->iterations;

	if (!iterations->nr)
		return;
	fprintf(out, "<p class=\"note\">%u %s", iterations->nr,
		iterations->nr == 1 ? vt_iterations_words[iterations->kind]
			       : vt_iterations_plurals[iterations->kind]);
	if (leaks->nr_points)
		fprintf(out, ", of which %u are warm-up", leaks->nr_warm_up);
	fputs(".</p>\n", out);
}

void vt_leak_rows_print(const struct vt_leaks_report *report, struct vt_sources *sources, FILE *out)
{
	const struct vt_leaks *leaks = &report->leaks;
	const struct vt_leftovers *leftovers = &leaks->leftovers;

	if (!leaks->nr_growth && !leaks->nr_since && !leftovers->nr)
		return;
	fputs("<section id=\"leaks\"><h2>Memory growth</h2>\n", out);
	print_iterations(leaks, out);
	fprintf(out,
		"<table class=\"plain leaks\"><thead><tr><th scope=\"col\">owner"
		"<th scope=\"col\" class=\"n\">per %s<th scope=\"col\" class=\"n\">alive"
		"<th scope=\"col\" class=\"n\">blocks<th scope=\"col\">since"
		"<th scope=\"col\">allocated at\n",
		vt_iterations_words[leaks->iterations.kind]);
	print_list(leaks, "grows", leaks->growth, leaks->nr_growth, sources, out);
	print_list(leaks, "allocated after the warm-up, live at the end", leaks->since,
		   leaks->nr_since, sources, out);
	print_list(leaks, "never freed, live when the program ended", leftovers->items,
		   leftovers->nr, sources, out);
	fputs("</table>\n", out);
	for (unsigned i = 0; i < report->notes.nr; i++) {
		fputs("<p class=\"note\">", out);
		vt_markup_text(out, report->notes.text[i]);
		fputs("</p>\n", out);
	}
	fputs("</section>\n", out);
}
