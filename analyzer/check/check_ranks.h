/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHECK_RANKS_H
#define VT_ANALYZER_CHECK_RANKS_H

/*
 * The ranks of one run compared with a budget, each for itself: a limit holds where it holds for
 * every rank.  Each is checked in a process of its own (ranks/readers.h).  Recordings that are not
 * ranks of one run (runs.is_unrelated) are compared with it the same way, under their files' names.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/check/check.h"
#include "analyzer/ranks/ranks_runs.h"

struct vt_check_rank {
	const struct vt_rank *rank;
	char *problem; /* why it could not be checked; NULL: it could */
	/*
	 * What the process that checked it said: "notes", and per limit of the budget the "row" of
	 * vt_check_row_json(), its "cells", and what is said of it as "text", "markdown", "github",
	 * "junit".
	 */
	json_t *said;
	unsigned nr_failed; /* limits */
};

/* A limit over all ranks that could be checked. */
struct vt_check_rank_limit {
	const struct vt_check_rank *worst; /* closest to its end, or furthest beyond */
	uint32_t nr_failed;		   /* ranks */
};

/* A recording that may be of this run, and cannot be read. */
struct vt_check_unreadable {
	const struct vt_rank *file; /* with its problem; borrowed */
	int64_t rank; /* the missing one that its name tells; VT_RANK_NONE: it tells none */
};

struct vt_check_ranks {
	const struct vt_check_options *options;
	const char *folder;
	struct vt_ranks_runs runs;
	struct vt_check_rank *ranks; /* by number */
	uint32_t nr;
	uint32_t nr_problems; /* ranks that could not be checked */
	struct vt_check_rank_limit *limits; /* as those of the budget */
	uint32_t *missing; /* of its world: ranks that left no recording, or an unreadable one */
	uint32_t nr_missing;
	struct vt_check_unreadable *unreadable; /* by name */
	uint32_t nr_unreadable;
	uint32_t nr_absent; /* missing, and no unreadable recording is theirs by its name */
	unsigned nr_broken; /* limits that some rank breaks */
};

/*
 * `run`: as of vt_ranks_runs_init().  Returns 0, or -1 with `diag` filled: no recording can be
 * read, no such run, or what makes vt_check_init() fail for every rank.  vt_check_ranks_release in
 * both cases; `options` must outlive it.
 */
int vt_check_ranks_init(struct vt_check_ranks *ranks, const char *folder, uint32_t run,
			const struct vt_check_options *options, struct vt_diag *diag);
void vt_check_ranks_release(struct vt_check_ranks *ranks);

/*
 * A limit is broken; or a rank left nothing, or could not be read or checked, and what is missing
 * is not fine.
 */
int vt_check_ranks_is_failed(const struct vt_check_ranks *ranks);
/* "rank 3"; of unrelated recordings the file's name without its folder.  free(). */
char *vt_check_ranks_name(const struct vt_check_ranks *ranks, const struct vt_rank *rank);
/* A rank of the world left nothing: neither a recording nor an unreadable one of its name. */
int vt_check_ranks_is_absent(const struct vt_check_ranks *ranks, uint32_t number);
/* What a rank said of a limit; borrowed. */
const json_t *vt_check_ranks_said(const struct vt_check_rank *rank, unsigned limit);
int vt_check_ranks_has_failed(const struct vt_check_rank *rank, unsigned limit);
/* Its figure, null where it has none; NULL: the rank could not be checked. */
const json_t *vt_check_ranks_figure(const struct vt_check_rank *rank, unsigned limit);
/* Ranks or recordings could not be checked, and that is not fine. */
int vt_check_ranks_has_unknown(const struct vt_check_ranks *ranks);

/*
 * A row of the table of limits, of the worst rank: as of vt_check_cells_make(), with the rank
 * behind the outcome.
 */
struct vt_check_ranks_cells {
	const char *cells[VT_CHECK_CELLS + 1]; /* in what follows, or the rank's */
	char *name;
	char outcome[64];
};
void vt_check_ranks_cells_make(struct vt_check_ranks_cells *cells,
			       const struct vt_check_ranks *ranks, unsigned limit);
void vt_check_ranks_cells_release(struct vt_check_ranks_cells *cells);
/* "rank", or "recording" where they are unrelated. */
const char *vt_check_ranks_noun(const struct vt_check_ranks *ranks);
/* Other ranks that broke a limit. */
void vt_check_ranks_print_others(const struct vt_check_ranks *ranks, unsigned limit, FILE *out);
/* Ranks of which nothing can be said. */
void vt_check_ranks_print_unknown(const struct vt_check_ranks *ranks, FILE *out);

/* For a job's summary page; links as of source_links.h. */
void vt_check_ranks_print_markdown(const struct vt_check_ranks *ranks, FILE *out);
void vt_check_ranks_print_text(const struct vt_check_ranks *ranks, FILE *out);
void vt_check_ranks_print_json(const struct vt_check_ranks *ranks, FILE *out);
void vt_check_ranks_print_github(const struct vt_check_ranks *ranks, FILE *out);
void vt_check_ranks_print_junit(const struct vt_check_ranks *ranks, FILE *out);

#endif
