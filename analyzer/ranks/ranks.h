/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RANKS_H
#define VT_ANALYZER_RANKS_H

/*
 * The recordings of a folder as the ranks of one run: by how much owners differ between them, which
 * rank stands out, which died, which are missing.  Computed once, printed as text (ranks_text.c) or
 * JSON (ranks_json.c).
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/diff/diff.h"
#include "analyzer/ranks/clocks.h"
#include "analyzer/ranks/rank.h"
#include "analyzer/ranks/ranks_runs.h"

struct vt_ranks_options {
	struct vt_rank_options rank;
	unsigned top;	  /* places to list; ranks, where there are more than fit a screen */
	uint32_t run;	  /* from 1, by their starts; 0: the last of those with most ranks */
	int has_all_frames;
	double warn_share; /* name ranks whose highest use is above that share; 0: none */
};

/* One figure of all ranks. */
struct vt_ranks_figure {
	const char *owner; /* borrowed */
	uint64_t min_bytes, max_bytes, sum_bytes;
	const struct vt_rank *min_rank, *max_rank; /* the lowest number of equal ones */
};

struct vt_ranks {
	const struct vt_ranks_options *options;
	const char *folder;
	struct vt_ranks_runs runs;
	const struct vt_ranks_run *run; /* the one that is printed */
	uint32_t *missing; /* of its world */
	uint32_t nr_missing;
	const struct vt_rank **died; /* first come first */
	uint32_t nr_died;
	struct vt_ranks_figure *owners; /* the largest first */
	uint32_t nr_owners;
	struct vt_ranks_figure process_used, allocated; /* the highest of each run */
	const struct vt_rank *peak;
	const struct vt_rank *median; /* by device use; of two the lower */
	struct vt_clocks clocks;
	/* The peak rank against the median one. */
	struct vt_diff_options diff_options;
	int pair[VT_DIFF_SIDES];
	struct vt_diff diff;
	int has_diff; /* 0: all ranks take as much, or there is one alone */
};

/*
 * Reads the folder.  Where its recordings are not of one start (runs.is_unrelated), nothing but
 * `runs` and `run` is set, and printing lists them (recording_list.h).  0, or -1 with `diag`
 * filled: no recording in it can be read, no such run.  vt_ranks_release in any case.
 */
int vt_ranks_init(struct vt_ranks *ranks, const char *folder,
		  const struct vt_ranks_options *options, struct vt_diag *diag);
void vt_ranks_release(struct vt_ranks *ranks);

/* How far the highest is above the mean, as a share of it; 0 where that is 0. */
double vt_ranks_imbalance(const struct vt_ranks *ranks, const struct vt_ranks_figure *figure);

/* The bytes above which a rank is named; 0: the size of its device is not known. */
uint64_t vt_ranks_warn_bytes(const struct vt_ranks *ranks, const struct vt_rank *rank);

void vt_ranks_text_print(struct vt_ranks *ranks, FILE *out);
/* What --json prints of ranks of one run; the caller gives it back. */
json_t *vt_ranks_json(struct vt_ranks *ranks);
void vt_ranks_json_print(struct vt_ranks *ranks, FILE *out);

#endif
