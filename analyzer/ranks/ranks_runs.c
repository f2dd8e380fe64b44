/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/ranks_runs.h"

#include <string.h>

#include "analyzer/base/util.h"

static int is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static int has_rank(const struct vt_ranks_run *run, int64_t number)
{
	for (uint32_t i = 0; i < run->nr; i++)
		if (run->ranks[i]->number == number)
			return 1;
	return 0;
}

/* The latest one that it can belong to. */
static struct vt_ranks_run *find_run(struct vt_ranks_runs *runs, const struct vt_rank *rank)
{
	for (uint32_t i = runs->nr; i-- > 0;) {
		struct vt_ranks_run *run = &runs->items[i];

		if (run->world_size == (uint32_t)rank->world_size &&
		    is_same(run->ranks[0]->job, rank->job) && !has_rank(run, rank->number))
			return run;
	}
	return NULL;
}

static void add(struct vt_ranks_runs *runs, const struct vt_rank *rank)
{
	struct vt_ranks_run *run = find_run(runs, rank);

	if (!run) {
		runs->items = vt_xrealloc(runs->items, (runs->nr + 1) * sizeof(*runs->items));
		run = &runs->items[runs->nr++];
		*run = (struct vt_ranks_run){ .world_size = (uint32_t)rank->world_size };
	}
	run->ranks = vt_xrealloc(run->ranks, (run->nr + 1) * sizeof(*run->ranks));
	run->ranks[run->nr++] = rank;
}

static int compare_starts(const void *a, const void *b)
{
	const struct vt_rank *x = *(const struct vt_rank *const *)a;
	const struct vt_rank *y = *(const struct vt_rank *const *)b;

	if (x->start_realtime_ns != y->start_realtime_ns)
		return x->start_realtime_ns < y->start_realtime_ns ? -1 : 1;
	return strcmp(x->file, y->file);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct vt_rank *x = *(const struct vt_rank *const *)a;
	const struct vt_rank *y = *(const struct vt_rank *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Processes of a pool, a spawn without variables: as good as ranks where there are no others. */
static void number_here(struct vt_ranks_runs *runs, struct vt_rank *files, uint32_t nr_files)
{
	int64_t number = 0;

	for (uint32_t i = 0; i < nr_files; i++)
		if (files[i].number != VT_RANK_NONE && !files[i].problem)
			return;
	runs->is_numbered_here = 1;
	for (uint32_t i = 0; i < nr_files; i++)
		if (!files[i].problem)
			files[i].number = number++;
}

static void add_all(struct vt_ranks_runs *runs, const struct vt_rank *files, uint32_t nr_files)
{
	const struct vt_rank **by_start = vt_xcalloc((size_t)nr_files + 1, sizeof(*by_start));
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_files; i++)
		if (!files[i].problem && files[i].number != VT_RANK_NONE)
			by_start[nr++] = &files[i];
	qsort(by_start, nr, sizeof(*by_start), compare_starts);
	for (uint32_t i = 0; i < nr; i++)
		add(runs, by_start[i]);
	for (uint32_t i = 0; i < runs->nr; i++)
		qsort(runs->items[i].ranks, runs->items[i].nr, sizeof(*by_start), compare_numbers);
	free(by_start);
}

void vt_ranks_runs_init(struct vt_ranks_runs *runs, struct vt_rank *files, uint32_t nr_files,
			uint32_t wanted)
{
	memset(runs, 0, sizeof(*runs));
	number_here(runs, files, nr_files);
	add_all(runs, files, nr_files);
	if (wanted && wanted <= runs->nr)
		runs->chosen = &runs->items[wanted - 1];
	for (uint32_t i = 0; i < runs->nr && !wanted; i++)
		if (!runs->chosen || runs->items[i].nr >= runs->chosen->nr)
			runs->chosen = &runs->items[i];
}

void vt_ranks_runs_release(struct vt_ranks_runs *runs)
{
	for (uint32_t i = 0; i < runs->nr; i++)
		free(runs->items[i].ranks);
	free(runs->items);
	memset(runs, 0, sizeof(*runs));
}

const char *vt_ranks_runs_reason(const struct vt_ranks_runs *runs, const struct vt_rank *file)
{
	const struct vt_ranks_run *run = runs->chosen;

	if (file->problem)
		return file->problem;
	if (file->number == VT_RANK_NONE)
		return "no rank: not started by a launcher";
	for (uint32_t i = 0; i < run->nr; i++)
		if (run->ranks[i] == file)
			return NULL;
	return has_rank(run, file->number) ? "another run: that rank is there once more" :
					     "another run";
}
