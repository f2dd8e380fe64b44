/* SPDX-License-Identifier: MIT */
#include "analyzer/html/pair.h"

#include "analyzer/diff/figures.h"
#include "analyzer/html/markup.h"
#include "analyzer/html/sources.h"
#include "analyzer/model/producer.h"

#define SHOWN_PLACES 10

struct pair {
	struct vt_diff *diff;
	const char *names[VT_DIFF_SIDES];
	struct vt_sources sources[VT_DIFF_SIDES];
	FILE *out;
};

static void print_figures(const struct pair *pair, const uint64_t *bytes)
{
	struct vt_figures figures;

	vt_figures_make(&figures, bytes);
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		fputs("<td class=\"n\">", pair->out);
		vt_markup_bytes(pair->out, bytes[side]);
	}
	fprintf(pair->out, "<td class=\"n\"><data value=\"%lld\">%s</data><td class=\"n\">%s\n",
		(long long)(bytes[VT_DIFF_NEW] - bytes[VT_DIFF_BASE]), figures.change,
		figures.share);
}

static void print_heads(const struct pair *pair, const char *what)
{
	fprintf(pair->out, "<thead><tr><th scope=\"col\">%s", what);
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		fputs("<th scope=\"col\" class=\"n\">", pair->out);
		vt_markup_text(pair->out, pair->names[side]);
	}
	fputs("<th scope=\"col\" class=\"n\">change<th scope=\"col\" class=\"n\"><tbody>\n",
	      pair->out);
}

static void print_row(const struct pair *pair, const char *name, const uint64_t *bytes)
{
	fputs("<tr data-owner=\"", pair->out);
	vt_markup_text(pair->out, name);
	fputs("\"><th scope=\"row\">", pair->out);
	vt_markup_text(pair->out, name);
	print_figures(pair, bytes);
}

/* Unchanged owners are one line. */
static void print_owners(const struct pair *pair, const struct vt_diff_device *device)
{
	uint64_t used[VT_DIFF_SIDES], equal[VT_DIFF_SIDES] = { 0 };
	uint32_t nr_equal = 0;

	fputs("<table class=\"owners pair\">", pair->out);
	print_heads(pair, "owner");
	for (uint32_t i = 0; i < device->nr_owners; i++) {
		const struct vt_diff_owner *owner = &device->owners[i];

		if (vt_diff_is_owner_change(device, owner)) {
			print_row(pair, owner->owner, owner->bytes);
			continue;
		}
		nr_equal += owner->bytes[VT_DIFF_BASE] || owner->bytes[VT_DIFF_NEW];
		for (int side = 0; side < VT_DIFF_SIDES; side++)
			equal[side] += owner->bytes[side];
	}
	if (nr_equal) {
		fprintf(pair->out, "<tr class=\"leaf\"><th scope=\"row\">%u owner%s unchanged",
			nr_equal, nr_equal == 1 ? "" : "s");
		print_figures(pair, equal);
	}
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		used[side] = device->has_books[side]
				     ? vt_books_device_used(&device->sides[side]->books)
				     : 0;
	fputs("<tfoot><tr data-owner=\"device used\"><th scope=\"row\">device used", pair->out);
	print_figures(pair, used);
	fputs("</table>\n", pair->out);
}

static void print_place(struct pair *pair, const struct vt_change *change)
{
	int side = change->allocation[VT_DIFF_NEW] != VT_NO_INDEX ? VT_DIFF_NEW : VT_DIFF_BASE;
	struct vt_side *of = pair->diff->sides[side];
	const struct vt_allocation *a;
	struct vt_lines lines;
	char *source;

	if (change->allocation[side] == VT_NO_INDEX)
		return;
	a = &of->analysis.model.allocations[change->allocation[side]];
	lines = vt_producer_lines(&of->describe, a);
	source = vt_sources_made(&pair->sources[side], &of->describe, a);
	fprintf(pair->out, "<tr><th scope=\"row\">%s<br>", vt_figures_word(change->bytes));
	vt_markup_text(pair->out, change->owner[side]);
	fputs("<td><span class=\"line\">", pair->out);
	vt_markup_text(pair->out, lines.nr ? lines.text[0] : "a call site without a stack");
	fputs("</span>", pair->out);
	if (source) {
		fputs("<code class=\"source\">", pair->out);
		vt_markup_text(pair->out, source);
		fputs("</code>", pair->out);
	}
	print_figures(pair, change->bytes);
	free(source);
	vt_lines_free(&lines);
}

static void print_places(struct pair *pair, const struct vt_diff_device *device)
{
	const struct vt_changes *changes = &device->changes;

	if (!changes->nr)
		return;
	fputs("<h3>Call sites that changed</h3>\n<table class=\"plain places\">", pair->out);
	print_heads(pair, "what<th scope=\"col\">allocated at");
	for (uint32_t i = 0; i < changes->nr && i < SHOWN_PLACES; i++)
		print_place(pair, &changes->items[i]);
	fprintf(pair->out, "</table>\n<p class=\"note\">%u call sites differ, %u do not.</p>\n",
		changes->nr, changes->nr_equal);
}

static void print_highest(const struct pair *pair, const char *name, const uint64_t *bytes)
{
	struct vt_figures figures;

	vt_figures_make(&figures, bytes);
	fprintf(pair->out, "<div class=\"tile\"><h3>%s</h3><p class=\"big\">", name);
	vt_markup_bytes(pair->out, bytes[VT_DIFF_NEW]);
	fputs("</p><p>", pair->out);
	vt_markup_text(pair->out, pair->names[VT_DIFF_BASE]);
	fputs(": ", pair->out);
	vt_markup_bytes(pair->out, bytes[VT_DIFF_BASE]);
	if (bytes[VT_DIFF_NEW] == bytes[VT_DIFF_BASE])
		fputs(", the same</p></div>\n", pair->out);
	else
		fprintf(pair->out, "; %s (%s)</p></div>\n", figures.change, figures.share);
}

/* What most of the change is, and the line behind it. */
static void print_answer(struct pair *pair, const struct vt_diff_device *device)
{
	fputs("<div class=\"tiles\">\n", pair->out);
	print_highest(pair, "Most memory in tensors", device->most_allocated_bytes);
	print_highest(pair, "Most of the device in use", device->peak_bytes);
	if (device->nr_owners && !device->owners[0].is_rest &&
	    vt_diff_is_owner_change(device, &device->owners[0])) {
		const struct vt_diff_owner *owner = &device->owners[0];
		struct vt_figures figures;

		vt_figures_make(&figures, owner->bytes);
		fputs("<div class=\"tile\"><h3>Most of the change</h3><p class=\"big\">",
		      pair->out);
		vt_markup_text(pair->out, owner->owner);
		fprintf(pair->out, "</p><p>%s (%s)</p></div>\n", figures.change,
			figures.share);
	}
	fputs("</div>\n", pair->out);
}

static void print_device(struct pair *pair, const struct vt_diff_device *device)
{
	fprintf(pair->out, "<section class=\"device\" data-device=\"%d\">\n", device->device);
	if (pair->diff->nr_devices > 1)
		fprintf(pair->out, "<h3>cuda:%d</h3>\n", device->device);
	print_answer(pair, device);
	fputs("<div class=\"mirror\"></div>\n<h3>Owners at ", pair->out);
	vt_markup_text(pair->out, pair->diff->options->when);
	fputs("</h3>\n", pair->out);
	print_owners(pair, device);
	fputs("<div class=\"changes\"></div>\n", pair->out);
	print_places(pair, device);
	fputs("</section>\n", pair->out);
}

/* Before lower figures are believed. */
static void print_incomplete(const struct pair *pair)
{
	for (int side = VT_DIFF_SIDES; side-- > 0;) {
		char *text = vt_diff_incomplete(pair->diff, side);

		if (!text)
			continue;
		fputs("<p class=\"warn\">Incomplete: ", pair->out);
		vt_markup_text(pair->out, text);
		fputs("</p>\n", pair->out);
		free(text);
	}
}

static void print_runs(const struct pair *pair)
{
	const struct vt_runs *runs = &pair->diff->runs;

	if (!runs->nr)
		return;
	fputs("<h3>What differs in the runs themselves</h3>\n<table class=\"plain\"><thead><tr>"
	      "<th scope=\"col\">",
	      pair->out);
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		fputs("<th scope=\"col\">", pair->out);
		vt_markup_text(pair->out, pair->names[side]);
	}
	fputs("<tbody>\n", pair->out);
	for (uint32_t i = 0; i < runs->nr; i++) {
		fputs("<tr><th scope=\"row\">", pair->out);
		vt_markup_text(pair->out, runs->rows[i].what);
		for (int side = 0; side < VT_DIFF_SIDES; side++) {
			const char *text = runs->rows[i].text[side];

			fputs("<td>", pair->out);
			vt_markup_text(pair->out, text ? text : "unknown");
		}
		fputc('\n', pair->out);
	}
	fputs("</table>\n", pair->out);
}

void vt_pair_print(struct vt_diff *diff, const char *base, const char *new, FILE *out)
{
	struct pair pair = { .diff = diff, .names = { base, new }, .out = out };

	for (int side = 0; side < VT_DIFF_SIDES; side++)
		vt_sources_init(&pair.sources[side], &diff->sides[side]->analysis.model);
	print_incomplete(&pair);
	for (uint32_t i = 0; i < diff->nr_devices; i++)
		print_device(&pair, &diff->devices[i]);
	print_runs(&pair);
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		vt_sources_release(&pair.sources[side]);
}
