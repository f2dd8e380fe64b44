/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RANKS_RUNS_H
#define VT_ANALYZER_RANKS_RUNS_H

/*
 * Which recordings of a folder belong together.  Those of one start have the same job and world
 * size, and each rank once: a rank that comes again (a second run with the same settings, a restart
 * of torchrun's) begins another run.
 */

#include "analyzer/ranks/rank.h"

/* Recordings of one start. */
struct vt_ranks_run {
	const struct vt_rank **ranks; /* by number; borrowed */
	uint32_t nr;
	uint32_t world_size; /* 0: not known */
};

struct vt_ranks_runs {
	struct vt_rank *files; /* all, by name */
	uint32_t nr_files;
	struct vt_ranks_run *items; /* by start */
	uint32_t nr;
	const struct vt_ranks_run *chosen;
	/* No recording had a rank: they are numbered in the order of their names. */
	int is_numbered_here;
	/* ... and they are not of one start: other programs, or one after the other. */
	int is_unrelated;
};

/*
 * Reads a folder of recordings, or a single one.  `wanted`: from 1, by their starts; 0: the last of
 * those with most ranks.  0, or -1 with `diag` filled: none can be read, no such run.
 * vt_ranks_runs_release in any case.
 */
int vt_ranks_runs_init(struct vt_ranks_runs *runs, const char *path,
		       const struct vt_rank_options *options, uint32_t wanted,
		       struct vt_diag *diag);
/* Of one recording that was read; takes it over. */
void vt_ranks_runs_of(struct vt_ranks_runs *runs, const struct vt_rank *rank);
void vt_ranks_runs_release(struct vt_ranks_runs *runs);

/* Whether the program of a recording that could be read still runs. */
int vt_ranks_runs_is_running(const struct vt_ranks_runs *runs);

/* For qsort() of pointers to recordings: by start, then by name. */
int vt_ranks_runs_compare_starts(const void *a, const void *b);

/* The ranks of its world that left no recording; free(). */
uint32_t *vt_ranks_run_missing(const struct vt_ranks_run *run, uint32_t *nr);

/* Whether it could be read and is no copy: each process is one of these. */
int vt_ranks_runs_is_process(const struct vt_rank *file);

/* Why a recording is not part of the run that is printed; NULL: it is. */
const char *vt_ranks_runs_reason(const struct vt_ranks_runs *runs, const struct vt_rank *file);

#endif
