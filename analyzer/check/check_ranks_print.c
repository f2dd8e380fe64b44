/* SPDX-License-Identifier: MIT */
#include "analyzer/check/check_ranks.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/shell.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

#define MOST_NUMBERS 16 /* ranks in one line; --json has all */
#define MOST_NOTES   8

static const char *text_of(const struct vt_check_rank *rank, unsigned limit, const char *key)
{
	const json_t *said = vt_check_ranks_said(rank, limit);

	return json_string_value(json_object_get(said, key));
}

const char *vt_check_ranks_noun(const struct vt_check_ranks *ranks)
{
	return ranks->runs.is_unrelated ? "recording" : "rank";
}

static void print_head(const struct vt_check_ranks *ranks, FILE *out)
{
	const struct vt_budget *budget = ranks->options->budget;
	char *folder = vt_printable_copy(ranks->folder), *path = vt_printable_copy(budget->path);
	char *baseline = vt_printable_copy(budget->baseline);

	fprintf(out, "CHECK  %s against %s, %u %s%s%s%s\n", folder, path, ranks->nr,
		vt_check_ranks_noun(ranks), ranks->nr == 1 ? "" : "s",
		baseline ? ", baseline " : "", baseline ? baseline : "");
	free(folder);
	free(path);
	free(baseline);
}

/* Notes of all ranks, each with whose it is. */
static void print_notes(const struct vt_check_ranks *ranks, FILE *out)
{
	unsigned nr = 0;

	if (ranks->runs.nr > 1)
		fprintf(out, "  note: %u runs in this folder; this is run %ld\n", ranks->runs.nr,
			(long)(ranks->runs.chosen - ranks->runs.items + 1));
	for (uint32_t i = 0; i < ranks->nr; i++) {
		const json_t *notes = json_object_get(ranks->ranks[i].said, "notes");
		char *name = vt_check_ranks_name(ranks, ranks->ranks[i].rank);

		for (size_t k = 0; k < json_array_size(notes); k++)
			if (nr++ < MOST_NOTES)
				fprintf(out, "  note: %s: %s\n", name,
					json_string_value(json_array_get(notes, k)));
		free(name);
	}
	if (nr > MOST_NOTES)
		fprintf(out, "  note: %u more (--json)\n", nr - MOST_NOTES);
	fputc('\n', out);
}

void vt_check_ranks_cells_make(struct vt_check_ranks_cells *made,
			       const struct vt_check_ranks *ranks, unsigned limit)
{
	const struct vt_check_rank_limit *all = &ranks->limits[limit];
	const json_t *said = json_object_get(vt_check_ranks_said(all->worst, limit), "cells");

	for (int i = 0; i < VT_CHECK_CELLS; i++)
		made->cells[i + (i > 1)] = json_string_value(json_array_get(said, (size_t)i));
	if (all->nr_failed) {
		snprintf(made->outcome, sizeof(made->outcome), "FAILED on %u of %u", all->nr_failed,
			 ranks->nr - ranks->nr_problems);
		made->cells[1] = made->outcome;
	}
	made->name = vt_check_ranks_name(ranks, all->worst->rank);
	/* The column says that it is a rank. */
	made->cells[2] = ranks->runs.is_unrelated ? made->name : made->name + strlen("rank ");
}

void vt_check_ranks_cells_release(struct vt_check_ranks_cells *cells)
{
	free(cells->name);
}

static void print_limits(const struct vt_check_ranks *ranks, FILE *out)
{
	const char *noun = vt_check_ranks_noun(ranks);
	const struct vt_column columns[] = { { "limit", 0 },
					     { "", 0 },
					     { noun, !ranks->runs.is_unrelated },
					     { "figure", 1 },
					     { "allowed", 1 },
					     { "margin", 1 },
					     { "baseline", 1 } };
	struct vt_table table;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (unsigned i = 0; i < ranks->options->budget->nr; i++) {
		struct vt_check_ranks_cells made;

		vt_check_ranks_cells_make(&made, ranks, i);
		vt_table_add(&table, made.cells);
		vt_check_ranks_cells_release(&made);
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
}

void vt_check_ranks_print_others(const struct vt_check_ranks *ranks, unsigned limit, FILE *out)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < ranks->nr; i++) {
		const struct vt_check_rank *rank = &ranks->ranks[i];
		char *name;

		if (rank == ranks->limits[limit].worst || rank->problem ||
		    !vt_check_ranks_has_failed(rank, limit) || nr++ >= MOST_NUMBERS)
			continue;
		if (nr == 1)
			fprintf(out, "  also on %ss", vt_check_ranks_noun(ranks));
		name = vt_check_ranks_name(ranks, rank->rank);
		fprintf(out, " %s", ranks->runs.is_unrelated ? name : name + strlen("rank "));
		free(name);
	}
	if (nr > MOST_NUMBERS)
		fprintf(out, " and %u more", nr - MOST_NUMBERS);
	if (nr)
		fputc('\n', out);
}

/* Why, with its file, which most messages name themselves; free(). */
static char *reason_of(const struct vt_check_unreadable *unreadable)
{
	char *file = vt_printable_copy(unreadable->file->file);
	const char *problem = unreadable->file->problem;
	int is_named = strstr(problem, file) != NULL;
	char *reason = vt_xasprintf("cannot be read: %s%s%s", is_named ? "" : file,
				    is_named ? "" : ": ", problem);

	free(file);
	return reason;
}

static void print_unreadable(const struct vt_check_unreadable *unreadable, const char *word,
			     FILE *out)
{
	char *reason = reason_of(unreadable);

	fprintf(out, "\n%s ", word);
	if (unreadable->rank != VT_RANK_NONE)
		fprintf(out, "rank %" PRId64 ": ", unreadable->rank);
	fprintf(out, "%s\n", reason);
	free(reason);
}

static void print_absent(const struct vt_check_ranks *ranks, const char *word, FILE *out)
{
	unsigned nr = 0;

	if (!ranks->nr_absent)
		return;
	fprintf(out, "\n%s %u of %u ranks left no recording here:", word, ranks->nr_absent,
		ranks->runs.chosen->world_size);
	for (uint32_t i = 0; i < ranks->nr_missing && nr < MOST_NUMBERS; i++)
		if (vt_check_ranks_is_absent(ranks, ranks->missing[i])) {
			fprintf(out, " %u", ranks->missing[i]);
			nr++;
		}
	fprintf(out, "%s\n", ranks->nr_absent > MOST_NUMBERS ? " ..." : "");
}

void vt_check_ranks_print_unknown(const struct vt_check_ranks *ranks, FILE *out)
{
	const char *word = ranks->options->is_missing_fine ? "skipped" : "FAILED";

	for (uint32_t i = 0; i < ranks->nr; i++)
		if (ranks->ranks[i].problem) {
			char *name = vt_check_ranks_name(ranks, ranks->ranks[i].rank);

			fprintf(out, "\n%s %s: %s\n", word, name, ranks->ranks[i].problem);
			free(name);
		}
	for (uint32_t i = 0; i < ranks->nr_unreadable; i++)
		print_unreadable(&ranks->unreadable[i], word, out);
	print_absent(ranks, word, out);
}

static void print_count(uint32_t nr, const char *one, const char *many, const char **before,
			FILE *out)
{
	if (!nr)
		return;
	fprintf(out, "%s%u %s", *before, nr, nr == 1 ? one : many);
	*before = ", ";
}

/* Limits, and what fails though no limit does. */
static void print_outcome(const struct vt_check_ranks *ranks, FILE *out)
{
	int has_unknown = ranks->nr_problems || ranks->nr_unreadable || ranks->nr_absent;
	int is_skipped = ranks->options->is_missing_fine;
	const char *before = is_skipped ? "; skipped: " : "; not checked: ";

	if (ranks->nr_broken || (has_unknown && !is_skipped))
		fprintf(out, "\n%u of %u limits failed", ranks->nr_broken,
			ranks->options->budget->nr);
	else
		fprintf(out, "\nall limits hold on all %ss%s", vt_check_ranks_noun(ranks),
			has_unknown ? " that could be checked" : "");
	print_count(ranks->nr_absent, "rank without a recording", "ranks without a recording",
		    &before, out);
	print_count(ranks->nr_unreadable, "recording that cannot be read",
		    "recordings that cannot be read", &before, out);
	if (ranks->runs.is_unrelated)
		print_count(ranks->nr_problems, "recording that could not be checked",
			    "recordings that could not be checked", &before, out);
	else
		print_count(ranks->nr_problems, "rank that could not be checked",
			    "ranks that could not be checked", &before, out);
	fputc('\n', out);
}

static void print_next(const struct vt_check_ranks *ranks, FILE *out)
{
	char *folder = vt_shell_copy(ranks->folder);

	fprintf(out, "next: vtrace report %s\n", folder);
	free(folder);
}

void vt_check_ranks_print_text(const struct vt_check_ranks *ranks, FILE *out)
{
	print_head(ranks, out);
	print_notes(ranks, out);
	print_limits(ranks, out);
	for (unsigned i = 0; i < ranks->options->budget->nr; i++)
		if (ranks->limits[i].nr_failed) {
			fputs(text_of(ranks->limits[i].worst, i, "text"), out);
			vt_check_ranks_print_others(ranks, i, out);
		}
	vt_check_ranks_print_unknown(ranks, out);
	print_outcome(ranks, out);
	if (vt_check_ranks_is_failed(ranks))
		print_next(ranks, out);
}

void vt_check_ranks_print_github(const struct vt_check_ranks *ranks, FILE *out)
{
	for (unsigned i = 0; i < ranks->options->budget->nr; i++)
		if (ranks->limits[i].nr_failed)
			fputs(text_of(ranks->limits[i].worst, i, "github"), out);
}

/* A rank of which nothing can be said is an error of the suite; `number`: VT_RANK_NONE: a file. */
static void print_error(int64_t number, const char *file, const char *text, FILE *out)
{
	fputs("  <testcase classname=\"vtrace check\" name=\"", out);
	if (number == VT_RANK_NONE)
		vt_check_print_xml(file, out);
	else
		fprintf(out, "rank %" PRId64, number);
	fputs("\"><error message=\"", out);
	vt_check_print_xml(text, out);
	fputs("\"/></testcase>\n", out);
}

static void print_errors(const struct vt_check_ranks *ranks, FILE *out)
{
	for (uint32_t i = 0; i < ranks->nr; i++)
		if (ranks->ranks[i].problem)
			print_error(ranks->runs.is_unrelated ? VT_RANK_NONE
							     : ranks->ranks[i].rank->number,
				    ranks->ranks[i].rank->file, ranks->ranks[i].problem, out);
	for (uint32_t i = 0; i < ranks->nr_unreadable; i++) {
		const struct vt_check_unreadable *unreadable = &ranks->unreadable[i];
		char *file = vt_printable_copy(unreadable->file->file);
		char *reason = reason_of(unreadable);

		print_error(unreadable->rank, file, reason, out);
		free(file);
		free(reason);
	}
	for (uint32_t i = 0; i < ranks->nr_missing; i++)
		if (vt_check_ranks_is_absent(ranks, ranks->missing[i]))
			print_error(ranks->missing[i], NULL, "left no recording", out);
}

void vt_check_ranks_print_junit(const struct vt_check_ranks *ranks, FILE *out)
{
	unsigned nr = ranks->options->budget->nr, nr_failed = 0;
	uint32_t nr_unknown = ranks->options->is_missing_fine ?
				      0 :
				      ranks->nr_problems + ranks->nr_unreadable +
					      ranks->nr_absent;

	for (uint32_t i = 0; i < ranks->nr; i++)
		nr_failed += ranks->ranks[i].nr_failed;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out, "<testsuite name=\"vtrace check\" tests=\"%u\" failures=\"%u\""
		     " errors=\"%u\">\n", nr * (ranks->nr - ranks->nr_problems) + nr_unknown,
		nr_failed, nr_unknown);
	for (uint32_t i = 0; i < ranks->nr; i++)
		for (unsigned k = 0; k < nr && !ranks->ranks[i].problem; k++)
			fputs(text_of(&ranks->ranks[i], k, "junit"), out);
	if (nr_unknown)
		print_errors(ranks, out);
	fputs("</testsuite>\n", out);
}

/* A rank by its number, an unrelated recording by its file. */
static json_t *whose_json(const struct vt_check_ranks *ranks, const struct vt_check_rank *rank)
{
	return ranks->runs.is_unrelated ? vt_json_text(rank->rank->file)
					: json_integer(rank->rank->number);
}

static json_t *limit_json(const struct vt_check_ranks *ranks, unsigned limit)
{
	const struct vt_check_rank_limit *all = &ranks->limits[limit];
	json_t *object = json_object(), *failed = json_array();

	for (uint32_t i = 0; i < ranks->nr; i++)
		if (!ranks->ranks[i].problem &&
		    vt_check_ranks_has_failed(&ranks->ranks[i], limit))
			json_array_append_new(failed, whose_json(ranks, &ranks->ranks[i]));
	vt_json_set(object, "limit", ranks->options->budget->limits[limit].name);
	vt_json_set(object, ranks->runs.is_unrelated ? "failed_files" : "failed_ranks", failed);
	vt_json_set(object, ranks->runs.is_unrelated ? "worst_file" : "worst_rank",
		    whose_json(ranks, all->worst));
	return object;
}

static json_t *rank_json(const struct vt_check_ranks *ranks, const struct vt_check_rank *rank)
{
	json_t *object = json_object(), *limits = json_array();
	unsigned nr = rank->problem ? 0 : ranks->options->budget->nr;

	for (unsigned i = 0; i < nr; i++)
		json_array_append(limits, json_object_get(vt_check_ranks_said(rank, i), "row"));
	if (!ranks->runs.is_unrelated)
		vt_json_set(object, "rank", rank->rank->number);
	vt_json_set(object, "file", rank->rank->file);
	vt_json_set(object, "problem", rank->problem);
	vt_json_set(object, "failed", rank->nr_failed);
	vt_json_set(object, "notes",
		    rank->problem ? json_array()
				  : json_incref(json_object_get(rank->said, "notes")));
	vt_json_set(object, "limits", limits);
	return object;
}

static json_t *unreadable_json(const struct vt_check_ranks *ranks)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < ranks->nr_unreadable; i++) {
		const struct vt_check_unreadable *unreadable = &ranks->unreadable[i];
		json_t *object = json_object();

		vt_json_set_if(object, "rank", unreadable->rank != VT_RANK_NONE, unreadable->rank);
		vt_json_set(object, "file", unreadable->file->file);
		vt_json_set(object, "problem", unreadable->file->problem);
		json_array_append_new(list, object);
	}
	return list;
}

void vt_check_ranks_print_json(const struct vt_check_ranks *ranks, FILE *out)
{
	const struct vt_budget *budget = ranks->options->budget;
	json_t *object = json_object(), *limits = json_array(), *of_ranks = json_array();
	json_t *missing = json_array();

	for (unsigned i = 0; i < budget->nr; i++)
		json_array_append_new(limits, limit_json(ranks, i));
	for (uint32_t i = 0; i < ranks->nr; i++)
		json_array_append_new(of_ranks, rank_json(ranks, &ranks->ranks[i]));
	for (uint32_t i = 0; i < ranks->nr_missing; i++)
		json_array_append_new(missing, json_integer(ranks->missing[i]));
	vt_json_set(object, "format", 1);
	vt_json_set(object, "folder", ranks->folder);
	vt_json_set(object, "budget", budget->path);
	vt_json_set(object, "baseline", budget->baseline);
	vt_json_set(object, "failed", ranks->nr_broken);
	vt_json_set(object, "missing", missing);
	vt_json_set(object, "unreadable", unreadable_json(ranks));
	vt_json_set(object, "limits", limits);
	vt_json_set(object, ranks->runs.is_unrelated ? "recordings" : "ranks", of_ranks);
	vt_json_print(object, out);
}
