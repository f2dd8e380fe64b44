/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/diff.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/figures.h"
#include "analyzer/diff/noise.h"
#include "analyzer/diff/verdict.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/source_links.h"

#define MOST_FRAMES 6

struct markdown {
	const struct vt_diff *diff;
	struct vt_source_links links;
	FILE *out;
};

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
	fputs("\n<details><summary>What differs between the runs</summary>\n\n"
	      "| run | base | new |\n|---|---|---|\n",
	      out);
	for (uint32_t i = 0; i < runs->nr; i++) {
		fputc('|', out);
		print_cell(runs->rows[i].what, out);
		print_cell(runs->rows[i].text[0] ? runs->rows[i].text[0] : "-", out);
		print_cell(runs->rows[i].text[1] ? runs->rows[i].text[1] : "-", out);
		fputc('\n', out);
	}
	fputs("\n</details>\n", out);
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

/* "[train.py:12](...)", or without an address: the revision is that of the new run. */
static void print_frame(const struct markdown *m, const struct vt_describe *describe,
			uint32_t frame, int side)
{
	const struct vt_frames *frames = &describe->model->frames;
	const struct vt_code *code = vt_frames_code(frames, frame);
	uint32_t line = frames->python[frame].line;
	char *path = vt_source_links_path(&m->links, describe, code->file);
	char *address = side == VT_DIFF_NEW
				? vt_source_links_line(&m->links, describe, code->file, line)
				: NULL;

	fprintf(m->out, address ? "[`%s:%u`](%s)" : "`%s:%u`",
		path ? path : vt_describe_file(describe, code->file), line, address);
	free(path);
	free(address);
}

static void print_stack(const struct markdown *m, const struct vt_change *change, int side)
{
	const struct vt_side *of = m->diff->sides[side];
	const struct vt_model *model = &of->analysis.model;
	const struct vt_allocation *a = &model->allocations[change->allocation[side]];
	uint32_t ids[VT_FRAMES_MAX], stack = vt_producer_stack(model, a);
	unsigned nr = vt_describe_visible(&of->describe, stack, ids);

	if (nr && stack != a->common->made->python_stack)
		fputs("backward of ", m->out);
	for (unsigned i = 0; i < nr && i < MOST_FRAMES; i++) {
		if (i)
			fputs(i == 1 ? ", from " : ", ", m->out);
		print_frame(m, &of->describe, ids[i], side);
		if (!i)
			fprintf(m->out, " `%s`", vt_frames_code(&model->frames, ids[i])->name);
	}
	if (!nr)
		fputs("without a Python line", m->out);
}

static void print_change(const struct markdown *m, const struct vt_change *change)
{
	int side = change->allocation[VT_DIFF_NEW] != VT_NO_INDEX ? VT_DIFF_NEW : VT_DIFF_BASE;
	int is_stack = m->diff->options->by == VT_CHANGES_BY_STACK;
	struct vt_figures figures;

	vt_figures_make(&figures, change->bytes);
	fprintf(m->out, "- **%s %s**: %s, was %s, ", vt_figures_word(change->bytes),
		figures.change, figures.new, figures.base);
	if (is_stack)
		fprintf(m->out, "%s; ", change->owner[side]);
	else
		fputs(change->name ? change->name : "none", m->out);
	if (is_stack)
		print_stack(m, change, side);
	fputc('\n', m->out);
}

static void print_moves(const struct markdown *m, const struct vt_changes *changes)
{
	char size[VT_UNITS_MAX];

	for (uint32_t i = 0; i < changes->moves.nr && i < m->diff->options->top; i++)
		fprintf(m->out, "- moved: `%s` is `%s`, %s in %u\n", changes->moves.items[i].from,
			changes->moves.items[i].to,
			vt_units_bytes(size, sizeof(size), changes->moves.items[i].bytes),
			changes->moves.items[i].blocks);
}

static void print_changes(const struct markdown *m, const struct vt_diff_device *device)
{
	const struct vt_changes *changes = &device->changes;
	unsigned shown = 0, nr = 0;

	for (uint32_t i = 0; i < changes->nr; i++)
		nr += vt_diff_is_place_change(device, &changes->items[i]);
	if (changes->by == VT_CHANGES_BY_OWNER || !(nr + changes->moves.nr))
		return;
	fprintf(m->out,
		"\n<details><summary>%u of %u call sites differ, by %s; %u moved</summary>\n\n", nr,
		changes->nr + changes->nr_equal, vt_changes_word(changes->by), changes->moves.nr);
	for (uint32_t i = 0; i < changes->nr && shown < m->diff->options->top; i++)
		if (vt_diff_is_place_change(device, &changes->items[i])) {
			print_change(m, &changes->items[i]);
			shown++;
		}
	if (nr > shown)
		fprintf(m->out, "- %u more\n", nr - shown);
	print_moves(m, changes);
	fputs("\n</details>\n", m->out);
}

static void print_noise(const struct vt_diff *diff, const struct vt_diff_device *devices,
			uint32_t nr, FILE *out)
{
	char *text = vt_noise_text(devices, nr);

	if (vt_diff_has_several(diff))
		fprintf(out,
			"\nOf %u and %u recordings, those with the median of the most allocated "
			"bytes are compared; %s: smaller differences are left out.\n",
			diff->nr_recordings[VT_DIFF_BASE], diff->nr_recordings[VT_DIFF_NEW], text);
	free(text);
}

static void print_device(const struct markdown *m, const struct vt_diff_device *device)
{
	char size[VT_UNITS_MAX];

	fprintf(m->out, "| cuda:%d at %s | base | new | change | |\n|---|--:|--:|--:|--:|\n",
		device->device, m->diff->options->when);
	for (uint32_t i = 0; i < device->nr_owners; i++)
		if (vt_diff_is_owner_change(device, &device->owners[i]))
			print_row(device->owners[i].owner, device->owners[i].bytes, m->out);
	print_row("**peak process use**", device->peak_bytes, m->out);
	print_row("**peak allocated**", device->most_allocated_bytes, m->out);
	if (device->noise_bytes)
		fprintf(m->out,
			"\nEqual steps of one run differ by %s: smaller differences are left "
			"out.\n",
			vt_units_bytes(size, sizeof(size), device->noise_bytes));
	print_noise(m->diff, device, 1, m->out);
	print_changes(m, device);
}

void vt_diff_markdown_print(struct vt_diff *diff, const char *repository, const char *revision,
			    FILE *out)
{
	struct markdown m = { .diff = diff, .out = out };
	char *head = vt_verdict_head(diff), *verdict = vt_verdict_make(diff);

	vt_source_links_init(&m.links, repository, revision);
	fprintf(out, "### GPU memory: %s\n\n", head);
	if (strcmp(head, verdict) != 0)
		fprintf(out, "%s\n\n", verdict);
	print_incomplete(diff, out);
	for (uint32_t i = 0; i < diff->nr_devices && vt_diff_is_different(diff); i++)
		print_device(&m, &diff->devices[i]);
	for (uint32_t i = 0; i < diff->nr_devices && !vt_diff_is_different(diff); i++)
		print_moves(&m, &diff->devices[i].changes);
	if (!vt_diff_is_different(diff))
		print_noise(diff, diff->devices, diff->nr_devices, out);
	print_runs(&diff->runs, out);
	vt_source_links_release(&m.links);
	free(head);
	free(verdict);
}
