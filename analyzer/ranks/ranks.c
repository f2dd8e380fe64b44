/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/ranks.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/when.h"

static int64_t end_of(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	return vt_clocks_time(&ranks->clocks, rank, rank->duration_ns);
}

static void find_died(struct vt_ranks *ranks)
{
	const struct vt_ranks_run *run = ranks->run;

	ranks->died = vt_xcalloc((size_t)run->nr + 1, sizeof(*ranks->died));
	for (uint32_t i = 0; i < run->nr; i++) {
		uint32_t at = ranks->nr_died;

		if (!vt_rank_has_died(run->ranks[i]))
			continue;
		while (at && end_of(ranks, ranks->died[at - 1]) > end_of(ranks, run->ranks[i])) {
			ranks->died[at] = ranks->died[at - 1];
			at--;
		}
		ranks->died[at] = run->ranks[i];
		ranks->nr_died++;
	}
}

static struct vt_ranks_figure *find_owner(struct vt_ranks *ranks, const char *owner)
{
	for (uint32_t i = 0; i < ranks->nr_owners; i++)
		if (!strcmp(ranks->owners[i].owner, owner))
			return &ranks->owners[i];
	ranks->owners = vt_xrealloc(ranks->owners,
				    (ranks->nr_owners + 1) * sizeof(*ranks->owners));
	ranks->owners[ranks->nr_owners] = (struct vt_ranks_figure){ .owner = owner };
	return &ranks->owners[ranks->nr_owners++];
}

static void add(struct vt_ranks_figure *figure, const struct vt_rank *rank, uint64_t bytes)
{
	if (!figure->min_rank || bytes < figure->min_bytes) {
		figure->min_bytes = bytes;
		figure->min_rank = rank;
	}
	if (!figure->max_rank || bytes > figure->max_bytes) {
		figure->max_bytes = bytes;
		figure->max_rank = rank;
	}
	figure->sum_bytes += bytes;
}

static uint64_t bytes_of(const struct vt_rank *rank, const char *owner)
{
	for (uint32_t i = 0; i < rank->nr_owners; i++)
		if (!strcmp(rank->owners[i].owner, owner))
			return rank->owners[i].bytes;
	return 0;
}

static int compare_owners(const void *a, const void *b)
{
	const struct vt_ranks_figure *x = a, *y = b;

	if (x->max_bytes != y->max_bytes)
		return x->max_bytes > y->max_bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

/* An owner that a rank has not has 0 bytes there. */
static void add_figures(struct vt_ranks *ranks)
{
	const struct vt_ranks_run *run = ranks->run;

	for (uint32_t i = 0; i < run->nr; i++)
		for (uint32_t o = 0; o < run->ranks[i]->nr_owners; o++)
			find_owner(ranks, run->ranks[i]->owners[o].owner);
	for (uint32_t i = 0; i < run->nr; i++) {
		const struct vt_rank *rank = run->ranks[i];

		add(&ranks->process_used, rank, (uint64_t)rank->peak_bytes);
		add(&ranks->allocated, rank, (uint64_t)rank->allocated_bytes);
		for (uint32_t o = 0; o < ranks->nr_owners; o++)
			add(&ranks->owners[o], rank, bytes_of(rank, ranks->owners[o].owner));
	}
	vt_sort(ranks->owners, ranks->nr_owners, compare_owners);
}

static int compare_use(const void *a, const void *b)
{
	const struct vt_rank *x = *(const struct vt_rank *const *)a;
	const struct vt_rank *y = *(const struct vt_rank *const *)b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? -1 : 1;
	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes < y->allocated_bytes ? -1 : 1;
	/* Of equal ones the lowest number is the highest. */
	return x->number > y->number ? -1 : x->number < y->number;
}

static void find_median(struct vt_ranks *ranks)
{
	const struct vt_ranks_run *run = ranks->run;
	const struct vt_rank **by_use = vt_xcalloc((size_t)run->nr + 1, sizeof(*by_use));

	memcpy(by_use, run->ranks, run->nr * sizeof(*by_use));
	vt_sort(by_use, run->nr, compare_use);
	ranks->peak = by_use[run->nr - 1];
	ranks->median = by_use[(run->nr - 1) / 2];
	free(by_use);
}

static int has_memory(const struct vt_rank *rank)
{
	return rank->device != VT_RANK_NONE;
}

/* Opens the two again: only their figures were kept. */
static int explain_peak(struct vt_ranks *ranks, struct vt_diag *diag)
{
	const struct vt_rank *sides[] = { ranks->median, ranks->peak };

	if (ranks->peak == ranks->median || !has_memory(ranks->peak) ||
	    !has_memory(ranks->median) ||
	    (ranks->peak->peak_bytes == ranks->median->peak_bytes &&
	     ranks->peak->allocated_bytes == ranks->median->allocated_bytes))
		return 0;
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		ranks->pair[side] = (int)sides[side]->device;
	ranks->diff_options = (struct vt_diff_options){
		.rules = ranks->options->rank.rules,
		.when = ranks->options->rank.when,
		.device = VT_WHEN_ALL_DEVICES,
		.pair = ranks->pair,
		.by = VT_CHANGES_BY_STACK,
		.top = ranks->options->top,
		.has_all_frames = ranks->options->has_all_frames,
	};
	ranks->has_diff = 1;
	return vt_diff_init(&ranks->diff, sides[VT_DIFF_BASE]->file, sides[VT_DIFF_NEW]->file,
			    &ranks->diff_options, diag);
}

int vt_ranks_init(struct vt_ranks *ranks, const char *folder,
		  const struct vt_ranks_options *options, struct vt_diag *diag)
{
	memset(ranks, 0, sizeof(*ranks));
	ranks->folder = folder;
	ranks->options = options;
	if (vt_ranks_runs_init(&ranks->runs, folder, &options->rank, options->run, diag))
		return -1;
	ranks->run = ranks->runs.chosen;
	/* A list (recording_list.h), whose rows are not compared. */
	if (ranks->runs.is_unrelated)
		return 0;
	vt_clocks_init(&ranks->clocks, ranks->run->ranks, ranks->run->nr);
	ranks->missing = vt_ranks_run_missing(ranks->run, &ranks->nr_missing);
	find_died(ranks);
	add_figures(ranks);
	find_median(ranks);
	return explain_peak(ranks, diag);
}

void vt_ranks_release(struct vt_ranks *ranks)
{
	if (ranks->has_diff)
		vt_diff_release(&ranks->diff);
	vt_clocks_release(&ranks->clocks);
	vt_ranks_runs_release(&ranks->runs);
	free(ranks->missing);
	free(ranks->died);
	free(ranks->owners);
	memset(ranks, 0, sizeof(*ranks));
}

uint64_t vt_ranks_warn_bytes(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	return (uint64_t)(ranks->options->warn_share * (double)rank->device_bytes);
}

double vt_ranks_imbalance(const struct vt_ranks *ranks, const struct vt_ranks_figure *figure)
{
	double mean = (double)figure->sum_bytes / (double)ranks->run->nr;

	return mean > 0 ? (double)figure->max_bytes / mean - 1 : 0;
}
