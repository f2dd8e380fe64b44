/* SPDX-License-Identifier: MIT */
#include "analyzer/check/check.h"

#include "analyzer/base/printable.h"
#include "analyzer/base/shell.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/table.h"

#define MAX_FRAMES 6 /* of one place; --json has all */

static const char *outcome_of(const struct vt_check *check, const struct vt_check_row *row)
{
	if (vt_check_is_warned(row))
		return "WARNING";
	if (row->outcome == VT_OUTCOME_MISSING && !vt_check_is_failed(check, row))
		return "skipped";
	return row->outcome == VT_OUTCOME_HELD ? "ok" : "FAILED";
}

static const char *margin_of(const struct vt_check_row *row, char *text)
{
	int is_over = row->figure.value > row->most;

	*text = is_over ? '-' : '+';
	vt_check_value(row, is_over ? row->figure.value - row->most : row->most - row->figure.value,
		       text + 1);
	return text;
}

void vt_check_cells_make(struct vt_check_cells *made, const struct vt_check *check,
			 const struct vt_check_row *row)
{
	const char **cells = made->cells;

	for (int i = 0; i < VT_CHECK_CELLS; i++)
		cells[i] = "";
	cells[0] = row->limit->name;
	cells[1] = outcome_of(check, row);
	if (row->outcome == VT_OUTCOME_MISSING)
		return;
	if (row->limit->what == VT_LIMIT_ENDED) {
		cells[2] = row->figure.value ? "otherwise" : "normally";
		cells[3] = "normally";
		return;
	}
	cells[2] = vt_check_value(row, row->figure.value, made->texts[2]);
	cells[3] = row->limit->what == VT_LIMIT_FINDING ?
			   "absent" :
			   vt_check_value(row, row->most, made->texts[3]);
	if (row->limit->what != VT_LIMIT_FINDING)
		cells[4] = margin_of(row, made->texts[4]);
	if (row->limit->amount.is_relative)
		cells[5] = vt_check_value(row, row->base, made->texts[5]);
}

static void print_contributor(const struct vt_check_row *row,
			      const struct vt_contributor *contributor, FILE *out)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "  %10s", vt_units_bytes(text, sizeof(text), contributor->bytes));
	if (row->limit->what == VT_LIMIT_GROWTH)
		fputs(" each iteration", out);
	if (contributor->base_bytes)
		fprintf(out, " (was %s)",
			vt_units_bytes(text, sizeof(text), contributor->base_bytes));
	fprintf(out, "  %s", contributor->owner ? contributor->owner : "");
	if (contributor->blocks)
		fprintf(out, ", %u %s", contributor->blocks,
			contributor->blocks == 1 ? "block" : "blocks");
	fputc('\n', out);
	if (contributor->what)
		fprintf(out, "              %s\n", contributor->what);
	for (unsigned i = 0; i < contributor->lines.nr && i < MAX_FRAMES; i++)
		fprintf(out, "              %s\n", contributor->lines.text[i]);
	if (!contributor->lines.nr)
		fputs("              (no stack)\n", out);
}

void vt_check_print_failure(const struct vt_check *check, const struct vt_check_row *row, FILE *out)
{
	char *sentence = vt_check_sentence(row);
	char *path = vt_printable_copy(check->options->budget->path);

	fprintf(out, "\n%s %s: %s%s%s\n", outcome_of(check, row), row->limit->name,
		check->options->label ? check->options->label : "",
		check->options->label ? ": " : "", sentence);
	fprintf(out, "  %s:%d\n", path, row->limit->line);
	for (unsigned i = 0; i < row->contributors.nr; i++)
		print_contributor(row, &row->contributors.items[i], out);
	free(sentence);
	free(path);
}

static void print_head(const struct vt_check *check, FILE *out)
{
	const struct vt_budget *budget = check->options->budget;
	char *budget_path = vt_printable_copy(budget->path);
	char *baseline = vt_printable_copy(budget->baseline);

	fprintf(out, "CHECK  %s against %s", vt_db_shown_path(check->measure.analysis->db),
		budget_path);
	if (baseline)
		fprintf(out, ", baseline %s", baseline);
	fputs("\n", out);
	for (unsigned i = 0; i < check->notes.nr; i++)
		fprintf(out, "  note: %s\n", check->notes.text[i]);
	fputs("\n", out);
	free(budget_path);
	free(baseline);
}

static void print_next(const struct vt_check *check, FILE *out)
{
	char *file = vt_shell_copy(vt_db_path(check->measure.analysis->db));
	const struct vt_baselines *baselines = &check->baselines;
	unsigned nr_recordings = 0;

	for (unsigned i = 0; i < baselines->nr; i++) {
		char *path = vt_shell_copy(check->options->budget->baselines[i]);

		if (baselines->items[i].is_recording)
			fprintf(out, "%s %s", nr_recordings++ ? "" : "next: vtrace diff", path);
		free(path);
	}
	if (nr_recordings)
		fprintf(out, "%s %s\n", nr_recordings > 1 ? " --" : "", file);
	else
		fprintf(out, "next: vtrace report %s\n", file);
	free(file);
}

void vt_check_print_text(const struct vt_check *check, FILE *out)
{
	static const struct vt_column columns[] = { { "limit", 0 },   { "", 0 },
						    { "figure", 1 },  { "allowed", 1 },
						    { "margin", 1 },  { "baseline", 1 } };
	struct vt_table table;

	print_head(check, out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (unsigned i = 0; i < check->nr; i++) {
		struct vt_check_cells made;

		vt_check_cells_make(&made, check, &check->rows[i]);
		vt_table_add(&table, made.cells);
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	for (unsigned i = 0; i < check->nr; i++)
		if (check->rows[i].outcome != VT_OUTCOME_HELD)
			vt_check_print_failure(check, &check->rows[i], out);
	if (!check->nr_broken) {
		if (check->nr_warned)
			fprintf(out, "\nall limits hold (%u warning%s)\n", check->nr_warned,
				check->nr_warned == 1 ? "" : "s");
		else
			fputs("\nall limits hold\n", out);
		return;
	}
	fprintf(out, "\n%u of %u limits failed\n", check->nr_broken, check->nr);
	print_next(check, out);
}
