/* SPDX-License-Identifier: MIT */
#include "analyzer/html/rank_rows.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/analysis/books.h"
#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/html/markup.h"

#define MOST_COLUMNS 12
#define MOST_ROWS    2048

/* The first part of owners' paths. */
struct column {
	const char *owner;
	size_t len;
};

struct columns {
	struct column items[MOST_COLUMNS];
	uint32_t nr, nr_left_out;
};

static uint64_t bytes_below(const struct vt_rank *rank, const char *owner, size_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rank->nr_owners; i++)
		if (vt_owner_path_is_below(rank->owners[i].owner, owner, len))
			sum += rank->owners[i].bytes;
	return sum;
}

static int has_column(const struct columns *columns, const char *owner, size_t len)
{
	for (uint32_t i = 0; i < columns->nr; i++)
		if (columns->items[i].len == len &&
		    !strncmp(columns->items[i].owner, owner, len))
			return 1;
	return 0;
}

/* Owners come with the largest first.  What other processes have is no rank's. */
static void choose_columns(struct columns *columns, const struct vt_ranks *ranks)
{
	for (uint32_t i = 0; i < ranks->nr_owners; i++) {
		const char *owner = ranks->owners[i].owner;
		size_t len = strcspn(owner, "/");

		if (!strcmp(owner, vt_rest_owners[VT_REST_OTHER_PROCESSES]) ||
		    has_column(columns, owner, len))
			continue;
		if (columns->nr == MOST_COLUMNS)
			columns->nr_left_out++;
		else
			columns->items[columns->nr++] = (struct column){ owner, len };
	}
}

static void print_cell(const char *owner, size_t len, uint64_t bytes, FILE *out)
{
	char text[VT_UNITS_MAX], *name = vt_xstrndup(owner, len);

	fputs("<td class=\"n heat\" data-column=\"", out);
	vt_markup_text(out, name);
	fprintf(out, "\" data-bytes=\"%" PRIu64 "\">%s", bytes,
		vt_units_bytes(text, sizeof(text), bytes));
	free(name);
}

static void print_rank(const struct vt_ranks *ranks, const struct vt_rank *rank,
		       const struct columns *columns, FILE *out)
{
	const char *word = rank == ranks->peak	  ? " highest"
			   : rank == ranks->median ? " median"
						   : "";

	fprintf(out,
		"<tr data-label=\"rank %" PRId64
		"\"><th scope=\"row\"><span class=\"open\">%" PRId64 "</span>%s<td>",
		rank->number, rank->number, word);
	vt_markup_text(out, vt_ended_text(rank->ended));
	print_cell("used", strlen("used"), (uint64_t)rank->peak_bytes, out);
	print_cell("allocated", strlen("allocated"), (uint64_t)rank->allocated_bytes, out);
	for (uint32_t i = 0; i < columns->nr; i++)
		print_cell(columns->items[i].owner, columns->items[i].len,
			   bytes_below(rank, columns->items[i].owner, columns->items[i].len), out);
	fputc('\n', out);
}

static void print_table(const struct vt_ranks *ranks, const struct columns *columns, FILE *out)
{
	uint32_t nr = ranks->run->nr;

	fputs("<table class=\"plain ranks\"><thead><tr>"
	      "<th scope=\"col\">rank<th scope=\"col\">ended"
	      "<th scope=\"col\" class=\"n\">most used<th scope=\"col\" class=\"n\">most allocated",
	      out);
	for (uint32_t i = 0; i < columns->nr; i++) {
		char *name = vt_xstrndup(columns->items[i].owner, columns->items[i].len);

		fputs("<th scope=\"col\" class=\"n\">", out);
		vt_markup_text(out, name);
		free(name);
	}
	fputs("<tbody>\n", out);
	for (uint32_t i = 0; i < nr && i < MOST_ROWS; i++)
		print_rank(ranks, ranks->run->ranks[i], columns, out);
	fputs("</table>\n<p class=\"note\">", out);
	if (nr > MOST_ROWS)
		fprintf(out, "The first %u of %u ranks. ", MOST_ROWS, nr);
	if (columns->nr_left_out)
		fprintf(out, "%u smaller owners are left out. ", columns->nr_left_out);
	fprintf(out,
		"Owners at %s; used and allocated at the highest of the run. Memory of other"
		" processes is not counted.</p>\n",
		ranks->options->rank.when);
}

static void print_numbers(const char *what, const uint32_t *numbers, uint32_t nr, FILE *out)
{
	if (!nr)
		return;
	fprintf(out, "<p class=\"warn\">%s:", what);
	for (uint32_t i = 0; i < nr && i < 16; i++)
		fprintf(out, " %" PRIu32, numbers[i]);
	fputs(nr > 16 ? " ...</p>\n" : "</p>\n", out);
}

static void print_header(const struct vt_ranks *ranks, FILE *out)
{
	const struct vt_ranks_run *run = ranks->run;
	char *program = vt_program_name(run->ranks[0]->command);

	fputs("<header>\n<h1>", out);
	vt_markup_text(out, program);
	fprintf(out, "</h1>\n<ul class=\"facts\"><li>%u", run->nr);
	if (run->world_size)
		fprintf(out, " of %u", run->world_size);
	fprintf(out, " rank%s on %u host%s<li>", run->nr == 1 && !run->world_size ? "" : "s",
		ranks->clocks.nr, ranks->clocks.nr == 1 ? "" : "s");
	vt_markup_text(out, ranks->peak->device_name ? ranks->peak->device_name : "no device");
	if (ranks->runs.nr > 1)
		fprintf(out, "<li>run %u of %u in this folder (--run)",
			(unsigned)(run - ranks->runs.items) + 1, ranks->runs.nr);
	fputs("</ul>\n", out);
	print_numbers("left no recording here: ranks", ranks->missing, ranks->nr_missing, out);
	for (uint32_t i = 0; i < ranks->nr_died && i < 5; i++) {
		fprintf(out, "<p class=\"warn\">rank %" PRId64 " failed: ", ranks->died[i]->number);
		vt_markup_text(out, vt_ended_text(ranks->died[i]->ended));
		fputs("</p>\n", out);
	}
	fputs("</header>\n", out);
	free(program);
}

void vt_rank_rows_print(const struct vt_ranks *ranks, FILE *out)
{
	struct columns columns = { 0 };

	print_header(ranks, out);
	choose_columns(&columns, ranks);
	fputs("<section id=\"ranks\"><h2>Ranks by owners</h2>\n", out);
	print_table(ranks, &columns, out);
	fputs("</section>\n", out);
}

void vt_rank_rows_print_list(const struct vt_ranks *ranks, const struct vt_rank *const *rows,
			     uint32_t nr, FILE *out)
{
	fprintf(out, "<header>\n<h1>%u recordings of separate runs</h1>\n</header>\n", nr);
	fputs("<section id=\"ranks\">\n<table class=\"plain ranks\"><thead><tr>"
	      "<th scope=\"col\">recording<th scope=\"col\">program<th scope=\"col\">ended"
	      "<th scope=\"col\">device<th scope=\"col\" class=\"n\">most used"
	      "<th scope=\"col\" class=\"n\">most allocated<tbody>\n",
	      out);
	for (uint32_t i = 0; i < nr && i < MOST_ROWS; i++) {
		char *program = vt_program_name(rows[i]->command);

		fputs("<tr data-label=\"", out);
		vt_markup_text(out, vt_util_base_name(rows[i]->file));
		fputs("\"><th scope=\"row\"><span class=\"open\">", out);
		vt_markup_text(out, vt_util_base_name(rows[i]->file));
		fputs("</span><td>", out);
		vt_markup_text(out, program);
		fputs("<td>", out);
		vt_markup_text(out, vt_ended_text(rows[i]->ended));
		fputs("<td>", out);
		vt_markup_text(out, rows[i]->device_name ? rows[i]->device_name : "none");
		fputs("<td class=\"n\">", out);
		vt_markup_bytes(out, (uint64_t)rows[i]->peak_bytes);
		fputs("<td class=\"n\">", out);
		vt_markup_bytes(out, (uint64_t)rows[i]->allocated_bytes);
		fputc('\n', out);
		free(program);
	}
	fputs("</table>\n", out);
	for (uint32_t i = 0; i < ranks->runs.nr_files; i++)
		if (ranks->runs.files[i].problem) {
			fputs("<p class=\"warn\">not readable: ", out);
			vt_markup_text(out, ranks->runs.files[i].problem);
			fputs("</p>\n", out);
		}
	fputs("</section>\n", out);
}
