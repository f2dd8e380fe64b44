/* SPDX-License-Identifier: MIT */
#include "analyzer/check/check_ranks.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/ranks/readers.h"

/* What a print function prints, as text. */
static json_t *printed(const struct vt_check *check, const struct vt_check_row *row,
		       void (*print)(const struct vt_check *, const struct vt_check_row *, FILE *))
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_t *value;

	if (out) {
		print(check, row, out);
		fclose(out);
	}
	value = vt_json_text(text ? text : "");
	free(text);
	return value;
}

static json_t *limit_json(const struct vt_check *check, const struct vt_check_row *row)
{
	json_t *object = json_object(), *cells = json_array();
	struct vt_check_cells made;

	vt_check_cells_make(&made, check, row);
	for (int i = 0; i < VT_CHECK_CELLS; i++)
		json_array_append_new(cells, vt_json_text(made.cells[i]));
	vt_json_set(object, "row", vt_check_row_json(check, row));
	vt_json_set(object, "cells", cells);
	vt_json_set(object, "text", printed(check, row, vt_check_print_failure));
	vt_json_set(object, "markdown", printed(check, row, vt_check_print_markdown_row));
	vt_json_set(object, "github", printed(check, row, vt_check_print_annotation));
	vt_json_set(object, "junit", printed(check, row, vt_check_print_case));
	return object;
}

static json_t *said_json(const struct vt_check *check)
{
	json_t *object = json_object(), *limits = json_array(), *notes = json_array();

	for (unsigned i = 0; i < check->nr; i++)
		json_array_append_new(limits, limit_json(check, &check->rows[i]));
	for (unsigned i = 0; i < check->notes.nr; i++)
		json_array_append_new(notes, vt_json_text(check->notes.text[i]));
	vt_json_set(object, "limits", limits);
	vt_json_set(object, "notes", notes);
	return object;
}

static const struct vt_rank *rank_of(const struct vt_check_ranks *ranks, const char *file)
{
	for (uint32_t i = 0; i < ranks->nr; i++)
		if (!strcmp(ranks->ranks[i].rank->file, file))
			return ranks->ranks[i].rank;
	return NULL;
}

char *vt_check_ranks_name(const struct vt_check_ranks *ranks, const struct vt_rank *rank)
{
	if (ranks->runs.is_unrelated)
		return vt_printable_copy(vt_util_base_name(rank->file));
	return vt_xasprintf("rank %" PRId64, rank->number);
}

/* In a process of its own. */
static char *check_file(const char *file, void *context)
{
	const struct vt_check_ranks *ranks = context;
	struct vt_check_options options = *ranks->options;
	char *label = vt_check_ranks_name(ranks, rank_of(ranks, file)), *text;
	struct vt_analysis analysis = { 0 };
	struct vt_check check = { 0 };
	struct vt_diag diag = { 0 };
	json_t *said;

	options.label = label;
	if (vt_analysis_open(&analysis, file, options.rules, &diag) ||
	    vt_check_init(&check, &analysis, &options, &diag))
		said = json_pack("{so}", "problem", vt_json_text(diag.text));
	else
		said = said_json(&check);
	text = json_dumps(said, JSON_COMPACT);
	json_decref(said);
	vt_check_release(&check);
	vt_analysis_close(&analysis);
	free(label);
	return text;
}

static void take_answer(uint32_t index, const char *text, size_t len, const char *problem,
			void *context)
{
	const struct vt_check_ranks *ranks = context;
	struct vt_check_rank *rank = &ranks->ranks[index];
	const json_t *own;

	rank->said = json_loadb(text, len, 0, NULL);
	own = json_object_get(rank->said, "problem");
	if (!json_is_object(rank->said) || json_is_string(own) ||
	    json_array_size(json_object_get(rank->said, "limits")) != ranks->options->budget->nr)
		rank->problem = vt_xstrdup(json_is_string(own) ? json_string_value(own) : problem);
}

static void check_files(struct vt_check_ranks *ranks)
{
	struct vt_readers_work work = { .nr = ranks->nr, .read = check_file,
					.take = take_answer, .context = ranks };
	const char **files = vt_xcalloc((size_t)ranks->nr + 1, sizeof(*files));

	for (uint32_t i = 0; i < ranks->nr; i++)
		files[i] = ranks->ranks[i].rank->file;
	work.files = files;
	vt_readers_run(&work);
	free(files);
}

const json_t *vt_check_ranks_said(const struct vt_check_rank *rank, unsigned limit)
{
	return json_array_get(json_object_get(rank->said, "limits"), limit);
}

static const json_t *row_of(const struct vt_check_rank *rank, unsigned limit)
{
	return json_object_get(vt_check_ranks_said(rank, limit), "row");
}

int vt_check_ranks_has_failed(const struct vt_check_rank *rank, unsigned limit)
{
	return json_is_true(json_object_get(row_of(rank, limit), "failed"));
}

const json_t *vt_check_ranks_figure(const struct vt_check_rank *rank, unsigned limit)
{
	return rank->problem ? NULL : json_object_get(row_of(rank, limit), "figure");
}

/* Broken ones first, then those without a figure that fail; of others those with least left. */
static int is_worse(const struct vt_check_rank *rank, const struct vt_check_rank *than,
		    unsigned limit)
{
	const json_t *margin = json_object_get(row_of(rank, limit), "margin");
	const json_t *other = json_object_get(row_of(than, limit), "margin");
	int has_failed = vt_check_ranks_has_failed(rank, limit);

	if (has_failed != vt_check_ranks_has_failed(than, limit))
		return has_failed;
	if (json_is_integer(margin) != json_is_integer(other))
		return json_is_integer(margin);
	return json_integer_value(margin) < json_integer_value(other);
}

static void add_up(struct vt_check_ranks *ranks)
{
	unsigned nr = ranks->options->budget->nr;

	ranks->limits = vt_xcalloc(nr + 1, sizeof(*ranks->limits));
	for (uint32_t i = 0; i < ranks->nr; i++) {
		struct vt_check_rank *rank = &ranks->ranks[i];

		ranks->nr_problems += rank->problem != NULL;
		for (unsigned k = 0; k < nr && !rank->problem; k++) {
			struct vt_check_rank_limit *limit = &ranks->limits[k];
			unsigned has_failed = vt_check_ranks_has_failed(rank, k) != 0;

			rank->nr_failed += has_failed;
			limit->nr_failed += has_failed;
			if (!limit->worst || is_worse(rank, limit->worst, k))
				limit->worst = rank;
		}
	}
	for (unsigned k = 0; k < nr; k++)
		ranks->nr_broken += ranks->limits[k].nr_failed != 0;
}

/* "run.rank3.db" is what a launcher's third rank writes (vtrace-run(1)); else VT_RANK_NONE. */
static int64_t rank_in_name(const char *file)
{
	const char *name = strrchr(file, '/'), *at = NULL;
	unsigned number;

	for (name = name ? name : file; (name = strstr(name, ".rank")); name++)
		at = name;
	return at && sscanf(at, ".rank%7u", &number) == 1 ? (int64_t)number : VT_RANK_NONE;
}

int vt_check_ranks_is_absent(const struct vt_check_ranks *ranks, uint32_t number)
{
	int is_missing = 0;

	for (uint32_t i = 0; i < ranks->nr_unreadable; i++)
		if (ranks->unreadable[i].rank == (int64_t)number)
			return 0;
	for (uint32_t i = 0; i < ranks->nr_missing; i++)
		is_missing |= ranks->missing[i] == number;
	return is_missing;
}

/*
 * Those named as a missing rank are of this run.  Of others it is not known; where no rank is left
 * that they could be, they are not.
 */
static void find_unreadable(struct vt_check_ranks *ranks)
{
	const struct vt_ranks_runs *runs = &ranks->runs;
	uint32_t nr = 0;

	ranks->unreadable = vt_xcalloc((size_t)runs->nr_files + 1, sizeof(*ranks->unreadable));
	ranks->nr_absent = ranks->nr_missing;
	for (uint32_t i = 0; i < runs->nr_files; i++) {
		int64_t rank = rank_in_name(runs->files[i].file);

		if (!runs->files[i].problem)
			continue;
		if (rank < 0 || !vt_check_ranks_is_absent(ranks, (uint32_t)rank))
			rank = VT_RANK_NONE;
		ranks->nr_absent -= rank != VT_RANK_NONE;
		ranks->unreadable[ranks->nr_unreadable++] =
			(struct vt_check_unreadable){ &runs->files[i], rank };
	}
	if (runs->is_numbered_here || !runs->chosen->world_size || ranks->nr_absent)
		return;
	for (uint32_t i = 0; i < ranks->nr_unreadable; i++)
		if (ranks->unreadable[i].rank != VT_RANK_NONE)
			ranks->unreadable[nr++] = ranks->unreadable[i];
	ranks->nr_unreadable = nr;
}

int vt_check_ranks_init(struct vt_check_ranks *ranks, const char *folder, uint32_t run,
			const struct vt_check_options *options, struct vt_diag *diag)
{
	/* What only the report of a folder asks for: any moment that every run has. */
	const struct vt_rank_options rank_options = { .when = "end", .rules = options->rules };

	memset(ranks, 0, sizeof(*ranks));
	ranks->options = options;
	ranks->folder = folder;
	if (vt_ranks_runs_init(&ranks->runs, folder, &rank_options, run, diag))
		return -1;
	ranks->missing = vt_ranks_run_missing(ranks->runs.chosen, &ranks->nr_missing);
	find_unreadable(ranks);
	ranks->nr = ranks->runs.chosen->nr;
	ranks->ranks = vt_xcalloc((size_t)ranks->nr + 1, sizeof(*ranks->ranks));
	for (uint32_t i = 0; i < ranks->nr; i++)
		ranks->ranks[i].rank = ranks->runs.chosen->ranks[i];
	check_files(ranks);
	add_up(ranks);
	if (ranks->nr_problems < ranks->nr)
		return 0;
	/* A budget with a wrong word is one for every rank. */
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s", ranks->ranks[0].problem);
	return -1;
}

void vt_check_ranks_release(struct vt_check_ranks *ranks)
{
	for (uint32_t i = 0; i < ranks->nr; i++) {
		json_decref(ranks->ranks[i].said);
		free(ranks->ranks[i].problem);
	}
	free(ranks->ranks);
	free(ranks->limits);
	free(ranks->missing);
	free(ranks->unreadable);
	vt_ranks_runs_release(&ranks->runs);
	memset(ranks, 0, sizeof(*ranks));
}

int vt_check_ranks_has_unknown(const struct vt_check_ranks *ranks)
{
	return !ranks->options->is_missing_fine &&
	       (ranks->nr_problems || ranks->nr_absent || ranks->nr_unreadable);
}

int vt_check_ranks_is_failed(const struct vt_check_ranks *ranks)
{
	return ranks->nr_broken || vt_check_ranks_has_unknown(ranks);
}
