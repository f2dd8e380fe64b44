/* SPDX-License-Identifier: MIT */
#include "analyzer/check/check_ranks.h"

static void print_title(const struct vt_check_ranks *ranks, FILE *out)
{
	unsigned nr = ranks->options->budget->nr;

	if (vt_check_ranks_is_failed(ranks))
		fprintf(out, "### GPU memory: %u of %u limits failed, %u %s%s\n\n",
			ranks->nr_broken, nr, ranks->nr, vt_check_ranks_noun(ranks),
			ranks->nr == 1 ? "" : "s");
	else
		fprintf(out, "### GPU memory: %u limits hold on %u %s%s\n\n", nr, ranks->nr,
			vt_check_ranks_noun(ranks), ranks->nr == 1 ? "" : "s");
}

static void print_table(const struct vt_check_ranks *ranks, FILE *out)
{
	fprintf(out,
		"| limit | | %s | figure | allowed | margin | baseline |\n"
		"|---|---|--:|--:|--:|--:|--:|\n",
		vt_check_ranks_noun(ranks));
	for (unsigned i = 0; i < ranks->options->budget->nr; i++) {
		struct vt_check_ranks_cells made;

		vt_check_ranks_cells_make(&made, ranks, i);
		for (int k = 0; k <= VT_CHECK_CELLS; k++)
			vt_check_print_markdown_cell(made.cells[k], out);
		fputs("|\n", out);
		vt_check_ranks_cells_release(&made);
	}
	fputc('\n', out);
}

static const char *said_of(const struct vt_check_rank *rank, unsigned limit)
{
	return json_string_value(json_object_get(vt_check_ranks_said(rank, limit), "markdown"));
}

void vt_check_ranks_print_markdown(const struct vt_check_ranks *ranks, FILE *out)
{
	print_title(ranks, out);
	print_table(ranks, out);
	for (unsigned i = 0; i < ranks->options->budget->nr; i++)
		if (ranks->limits[i].nr_failed) {
			fputs(said_of(ranks->limits[i].worst, i), out);
			vt_check_ranks_print_others(ranks, i, out);
		}
	vt_check_ranks_print_unknown(ranks, out);
}
