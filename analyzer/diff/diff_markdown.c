/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/diff.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/figures.h"
#include "analyzer/model/producer.h"

/* A cell of a table: a bar would end it. */
static void print_cell(const char *text, FILE *out)
{
	fputs(" ", out);
	for (; *text; text++) {
		if (*text == '|')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputs(" |", out);
}

static void print_row(const char *name, const uint64_t *bytes, FILE *out)
{
	struct vt_figures figures;

	vt_figures_make(&figures, bytes);
	fputc('|', out);
	print_cell(name, out);
	print_cell(figures.base, out);
	print_cell(figures.new, out);
	print_cell(figures.change, out);
	print_cell(figures.share, out);
	fputc('\n', out);
}

static void print_runs(const struct vt_runs *runs, FILE *out)
{
	if (!runs->nr)
		return;
	fputs("| run | base | new |\n|---|---|---|\n", out);
	for (uint32_t i = 0; i < runs->nr; i++) {
		fputc('|', out);
		print_cell(runs->rows[i].what, out);
		print_cell(runs->rows[i].text[0] ? runs->rows[i].text[0] : "-", out);
		print_cell(runs->rows[i].text[1] ? runs->rows[i].text[1] : "-", out);
		fputc('\n', out);
	}
	fputc('\n', out);
}

static void print_incomplete(const struct vt_diff *diff, FILE *out)
{
	for (int side = VT_DIFF_SIDES; side-- > 0;) {
		char *text = vt_diff_incomplete(diff, side);

		if (text)
			fprintf(out, "**Incomplete:** %s.\n\n", text);
		free(text);
	}
}

static void print_change(const struct vt_diff *diff, const struct vt_change *change, FILE *out)
{
	int side = change->allocation[VT_DIFF_NEW] != VT_NO_INDEX ? VT_DIFF_NEW : VT_DIFF_BASE;
	struct vt_figures figures;
	struct vt_lines lines;

	vt_figures_make(&figures, change->bytes);
	fprintf(out, "%s %s: %s, was %s (%s)\n", vt_figures_word(change->bytes), figures.change,
		figures.new, figures.base,
		diff->options->by != VT_CHANGES_BY_STACK ?
			(change->name ? change->name : "none") :
			change->owner[side]);
	if (diff->options->by != VT_CHANGES_BY_STACK)
		return;
	lines = vt_producer_lines(
		&diff->sides[side].describe,
		&diff->sides[side].analysis.model.allocations[change->allocation[side]]);
	for (unsigned i = 0; i < lines.nr; i++)
		fprintf(out, "    %s\n", lines.text[i]);
	vt_describe_free(&lines);
}

static void print_changes(const struct vt_diff *diff, const struct vt_diff_device *device,
			  FILE *out)
{
	const struct vt_changes *changes = &device->changes;
	unsigned shown = 0;

	if (changes->by == VT_CHANGES_BY_OWNER || !changes->nr)
		return;
	fprintf(out, "\n<details><summary>by %s</summary>\n\n```\n", vt_changes_word(changes->by));
	for (uint32_t i = 0; i < changes->nr && shown < diff->options->top; i++)
		if (vt_diff_is_change(device, changes->items[i].bytes)) {
			print_change(diff, &changes->items[i], out);
			shown++;
		}
	fputs("```\n\n</details>\n", out);
}

static void print_device(const struct vt_diff *diff, const struct vt_diff_device *device, FILE *out)
{
	fprintf(out, "| cuda:%d at %s | base | new | change | |\n|---|--:|--:|--:|--:|\n",
		device->device, diff->options->when);
	for (uint32_t i = 0; i < device->nr_owners; i++)
		if (vt_diff_is_change(device, device->owners[i].bytes))
			print_row(device->owners[i].owner, device->owners[i].bytes, out);
	print_row("**process used at most**", device->peak_bytes, out);
	print_row("**allocated at most**", device->most_allocated_bytes, out);
	print_changes(diff, device, out);
}

void vt_diff_markdown_print(struct vt_diff *diff, FILE *out)
{
	print_runs(&diff->runs, out);
	print_incomplete(diff, out);
	if (!vt_diff_is_different(diff))
		fputs("No difference in GPU memory.\n", out);
	else
		for (uint32_t i = 0; i < diff->nr_devices; i++)
			print_device(diff, &diff->devices[i], out);
}
