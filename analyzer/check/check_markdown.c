/* SPDX-License-Identifier: MIT */
/* For the summary page of a job: the limits as a table, then what broke each. */
#include "analyzer/check/check.h"

#include "analyzer/base/util.h"

static void print_title(const struct vt_check *check, FILE *out)
{
	if (check->nr_broken)
		fprintf(out, "### GPU memory: %u of %u limits failed", check->nr_broken,
			check->nr);
	else
		fprintf(out, "### GPU memory: %u limits hold", check->nr - check->nr_warned);
	if (check->nr_warned)
		fprintf(out, ", %u %s", check->nr_warned,
			check->nr_warned == 1 ? "warns" : "warn");
	fputs("\n\n", out);
}

void vt_check_print_markdown_cell(const char *text, FILE *out)
{
	fputs("| ", out);
	for (; *text; text++)
		fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
	fputc(' ', out);
}

static void print_table(const struct vt_check *check, FILE *out)
{
	fputs("| limit | | figure | allowed | margin | baseline |\n|---|---|--:|--:|--:|--:|\n",
	      out);
	for (unsigned i = 0; i < check->nr; i++) {
		struct vt_check_cells made;

		vt_check_cells_make(&made, check, &check->rows[i]);
		for (int k = 0; k < VT_CHECK_CELLS; k++)
			vt_check_print_markdown_cell(made.cells[k], out);
		fputs("|\n", out);
	}
	fputc('\n', out);
}

static void print_contributor(const struct vt_check *check, const struct vt_contributor *c,
			      FILE *out)
{
	const struct vt_describe *describe = &check->measure.describe;
	char *address = NULL, text[VT_UNITS_MAX];

	if (c->path && check->options->links)
		address = vt_source_links_line(check->options->links, describe, c->path,
					       (uint32_t)c->line);
	fprintf(out, "- %s %s", vt_units_bytes(text, sizeof(text), c->bytes),
		c->owner ? c->owner : "");
	if (c->base_bytes)
		fprintf(out, ", was %s", vt_units_bytes(text, sizeof(text), c->base_bytes));
	if (c->what)
		fprintf(out, ", %s", c->what);
	if (c->lines.nr)
		fprintf(out, address ? ": [`%s`](%s)" : ": `%s`", c->lines.text[0], address);
	fputc('\n', out);
	free(address);
}

void vt_check_print_markdown_row(const struct vt_check *check, const struct vt_check_row *row,
				 FILE *out)
{
	char *sentence = vt_check_sentence(row);
	const char *label = check->options->label;

	fprintf(out, "**%s**: %s%s%s\n\n", row->limit->name, label ? label : "", label ? ": " : "",
		sentence);
	free(sentence);
	for (unsigned k = 0; k < row->contributors.nr; k++)
		print_contributor(check, &row->contributors.items[k], out);
	if (row->contributors.nr)
		fputc('\n', out);
}

void vt_check_print_markdown(const struct vt_check *check, FILE *out)
{
	print_title(check, out);
	for (unsigned i = 0; i < check->notes.nr; i++)
		fprintf(out, "Note: %s.\n\n", check->notes.text[i]);
	print_table(check, out);
	for (unsigned i = 0; i < check->nr; i++)
		if (check->rows[i].outcome != VT_OUTCOME_HELD)
			vt_check_print_markdown_row(check, &check->rows[i], out);
}
