/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/diff.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/figures.h"
#include "analyzer/diff/noise.h"
#include "analyzer/diff/verdict.h"
#include "analyzer/model/producer.h"
#include "analyzer/output/table.h"

/* Enough to see which call of which library; --all-frames shows the rest. */
#define MOST_FRAMES 8

static void print_side(const struct vt_diff *diff, int side, FILE *out)
{
	fprintf(out, "%-4s  %s", side == VT_DIFF_NEW ? "new" : "base",
		vt_db_shown_path(diff->sides[side]->analysis.db));
	if (diff->nr_recordings[side] > 1)
		fprintf(out, ", the median of %u recordings by most allocated bytes",
			diff->nr_recordings[side]);
	fputc('\n', out);
}

static void print_runs(const struct vt_diff *diff, FILE *out)
{
	static const struct vt_column columns[] = { { "", 0 }, { "base", 0 }, { "new", 0 } };
	struct vt_table table;

	print_side(diff, VT_DIFF_BASE, out);
	print_side(diff, VT_DIFF_NEW, out);
	if (!diff->runs.nr)
		return;
	fputs("\nRUNS  differences\n", out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < diff->runs.nr; i++) {
		const struct vt_runs_row *row = &diff->runs.rows[i];
		const char *cells[] = { row->what, row->text[0] ? row->text[0] : "-",
					row->text[1] ? row->text[1] : "-" };

		vt_table_add(&table, cells);
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
}

static void print_incomplete(const struct vt_diff *diff, FILE *out)
{
	for (int side = VT_DIFF_SIDES; side-- > 0;) {
		char *text = vt_diff_incomplete(diff, side);

		if (text)
			fprintf(out, "\nINCOMPLETE  %s\n", text);
		free(text);
	}
}

static void add_row(struct vt_table *table, const char *name, const uint64_t *bytes)
{
	struct vt_figures figures;
	const char *cells[] = { name, figures.base, figures.new, figures.change, figures.share };

	vt_figures_make(&figures, bytes);
	vt_table_add(table, cells);
}

static void print_owners(const struct vt_diff_device *device, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "owner", 0 }, { "base", 1 }, { "new", 1 }, { "change", 1 }, { "", 1 },
	};
	uint64_t same[VT_DIFF_SIDES] = { 0 }, used[VT_DIFF_SIDES];
	struct vt_table table;
	uint32_t nr_same = 0;
	char *rest;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < device->nr_owners; i++) {
		const struct vt_diff_owner *owner = &device->owners[i];

		if (vt_diff_is_owner_change(device, owner)) {
			add_row(&table, owner->owner, owner->bytes);
			continue;
		}
		nr_same += owner->bytes[VT_DIFF_BASE] || owner->bytes[VT_DIFF_NEW];
		for (int side = 0; side < VT_DIFF_SIDES; side++)
			same[side] += owner->bytes[side];
	}
	rest = vt_xasprintf("%u %s unchanged", nr_same, nr_same == 1 ? "owner" : "owners");
	if (nr_same)
		add_row(&table, rest, same);
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		used[side] = vt_books_device_used(&device->sides[side]->books);
	vt_table_add_line(&table);
	add_row(&table, "device used", used);
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	free(rest);
}

/* The new run's stack, where there is one: that is the source that can be changed. */
static void print_stack(const struct vt_diff *diff, const struct vt_change *change, FILE *out)
{
	int side = change->allocation[VT_DIFF_NEW] != VT_NO_INDEX ? VT_DIFF_NEW : VT_DIFF_BASE;
	const struct vt_model *model = &diff->sides[side]->analysis.model;
	unsigned max = diff->options->has_all_frames ? VT_FRAMES_MAX : MOST_FRAMES;
	struct vt_lines lines = vt_producer_lines(
		&diff->sides[side]->describe, &model->allocations[change->allocation[side]]);

	for (unsigned i = 0; i < lines.nr && i < max; i++)
		fprintf(out, "       %s\n", lines.text[i]);
	if (lines.nr > max)
		fprintf(out, "       ... %u more\n", lines.nr - max);
	vt_lines_free(&lines);
}

static void print_change(const struct vt_diff *diff, const struct vt_change *change,
			 unsigned number, FILE *out)
{
	const char *base = change->owner[VT_DIFF_BASE], *new = change->owner[VT_DIFF_NEW];
	struct vt_figures figures;

	vt_figures_make(&figures, change->bytes);
	fprintf(out, "%3u  %-6s  %s: %s in %u block%s (was %s in %u)", number,
		vt_figures_word(change->bytes), figures.change, figures.new,
		change->blocks[VT_DIFF_NEW], change->blocks[VT_DIFF_NEW] == 1 ? "" : "s",
		figures.base, change->blocks[VT_DIFF_BASE]);
	if (diff->options->by != VT_CHANGES_BY_STACK) {
		fprintf(out, ", %s\n", change->name ? change->name : "(none)");
		return;
	}
	if (base && new && strcmp(base, new) != 0)
		fprintf(out, ", %s (was %s)\n", new, base);
	else
		fprintf(out, ", %s\n", new ? new : base);
	print_stack(diff, change, out);
}

static void print_changes(const struct vt_diff *diff, const struct vt_diff_device *device,
			  FILE *out)
{
	const struct vt_changes *changes = &device->changes;
	unsigned shown = 0, nr = 0;

	if (changes->by == VT_CHANGES_BY_OWNER)
		return;
	for (uint32_t i = 0; i < changes->nr; i++)
		nr += vt_diff_is_place_change(device, &changes->items[i]);
	fprintf(out, "\nCALL SITES by %s: %u of %u differ\n", vt_changes_word(changes->by), nr,
		changes->nr + changes->nr_equal);
	for (uint32_t i = 0; i < changes->nr && shown < diff->options->top; i++)
		if (vt_diff_is_place_change(device, &changes->items[i]))
			print_change(diff, &changes->items[i], ++shown, out);
	if (nr > shown)
		fprintf(out, "     ... %u more (--top)\n", nr - shown);
}

/* Bytes that are the same, of code under another name. */
static void print_moves(const struct vt_diff_device *device, unsigned top, FILE *out)
{
	const struct vt_changes *changes = &device->changes;
	char size[VT_UNITS_MAX];

	if (!changes->moves.nr)
		return;
	fprintf(out,
		"\nMOVED on cuda:%d  the same code under another name or at another location\n",
		device->device);
	for (uint32_t i = 0; i < changes->moves.nr && i < top; i++) {
		const struct vt_change_move *move = &changes->moves.items[i];

		fprintf(out, "  %s -> %s, %s in %u\n", move->from, move->to,
			vt_units_bytes(size, sizeof(size), move->bytes), move->blocks);
	}
	if (changes->moves.nr > top)
		fprintf(out, "  ... %u more (--top)\n", changes->moves.nr - top);
}

static void print_total(const char *what, const uint64_t *bytes, int is_change, FILE *out)
{
	struct vt_figures figures;

	vt_figures_make(&figures, bytes);
	fprintf(out, "  %-20s %s (was %s)", what, figures.new, figures.base);
	if (*figures.share)
		fprintf(out, ": %s (%s)%s", figures.change, figures.share,
			is_change ? "" : ", within noise");
	fputc('\n', out);
}

static void print_doing(const struct vt_diff_device *device, FILE *out)
{
	const char *base = device->sides[VT_DIFF_BASE]->doing;
	const char *new = device->sides[VT_DIFF_NEW]->doing;

	if (base && new && !strcmp(base, new))
		fprintf(out, ": %s\n", new);
	else if (base && new)
		fprintf(out, ": %s (base: %s)\n", new, base);
	else
		fputc('\n', out);
}

static void print_noise(const char *head, const struct vt_diff_device *devices, uint32_t nr,
			FILE *out)
{
	char *text = vt_noise_text(devices, nr);

	fprintf(out, "%s%s\n", head, text);
	free(text);
}

static void print_device(const struct vt_diff *diff, const struct vt_diff_device *device, FILE *out)
{
	static const char *const words[] = { "base", "new run" };
	char noise[VT_UNITS_MAX];

	fprintf(out, "\ncuda:%d\n", device->device);
	print_total("peak process use", device->peak_bytes,
		    vt_diff_is_change(device, device->peak_bytes, device->peak_noise_bytes), out);
	print_total("peak allocated", device->most_allocated_bytes,
		    vt_diff_is_change(device, device->most_allocated_bytes,
				      device->allocated_noise_bytes),
		    out);
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		if (!device->has_books[side])
			fprintf(out, "  the %s recorded no memory of this device\n", words[side]);
	if (device->noise_bytes)
		fprintf(out, "  noise: equal steps of one run differ by %s\n",
			vt_units_bytes(noise, sizeof(noise), device->noise_bytes));
	if (vt_diff_has_several(diff))
		print_noise("  noise: ", device, 1, out);
	fprintf(out, "\nOWNERS  at %s", diff->options->when);
	print_doing(device, out);
	print_owners(device, out);
	print_changes(diff, device, out);
}

static void print_equal(const struct vt_diff *diff, FILE *out)
{
	if (vt_diff_has_several(diff))
		print_noise("\nno change beyond noise: ", diff->devices, diff->nr_devices, out);
	else
		fputs("\nall owners and call sites have the same bytes\n", out);
}

void vt_diff_text_print(struct vt_diff *diff, FILE *out)
{
	char *verdict = vt_verdict_make(diff);

	fprintf(out, "%s\n\n", verdict);
	free(verdict);
	print_runs(diff, out);
	print_incomplete(diff, out);
	if (!vt_diff_is_different(diff))
		print_equal(diff, out);
	for (uint32_t i = 0; i < diff->nr_devices; i++) {
		if (vt_diff_is_different(diff))
			print_device(diff, &diff->devices[i], out);
		print_moves(&diff->devices[i], diff->options->top, out);
	}
}
