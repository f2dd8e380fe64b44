/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HISTORY_H
#define VT_ANALYZER_HISTORY_H

/*
 * The figures of checks over time, in a small SQLite file that can live in a cache or a branch: a
 * row per check and limit. Table run (id, time_s, revision), figure (run, name, unit, value).
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/check/check_ranks.h"
#include "analyzer/check/level_shifts.h"

struct vt_history_figure {
	const char *name; /* of the limit; borrowed */
	enum vt_budget_unit unit;
	uint64_t value;
};

VT_VECTOR_DECLARE(vt_history_figures, struct vt_history_figure);

/* Those that a check has, or the ranks of a run: the highest of theirs. */
void vt_history_figures_of_check(struct vt_history_figures *figures, const struct vt_check *check);
void vt_history_figures_of_ranks(struct vt_history_figures *figures,
				 const struct vt_check_ranks *ranks);

/* One limit through all runs that have it. */
struct vt_history_series {
	char *name;
	enum vt_budget_unit unit;
	double *figures;
	uint32_t *runs; /* index of the run of each */
	uint32_t nr;
	struct vt_level_shifts steps;
};

struct vt_history {
	char **revisions; /* by run, the oldest first */
	int64_t *times_s;
	uint32_t nr_runs;
	struct vt_history_series *series; /* by name */
	uint32_t nr_series;
};

/* Adds a run, making the file where there is none.  Returns 0, or -1 with `diag` filled. */
int vt_history_add(const char *path, const struct vt_history_figures *figures,
		   const char *revision, struct vt_diag *diag);
/* Reads all and finds the steps.  vt_history_release in both cases. */
int vt_history_read(struct vt_history *history, const char *path, struct vt_diag *diag);
void vt_history_release(struct vt_history *history);

/* A figure with its unit; `text` has VT_UNITS_MAX bytes, and is returned. */
const char *vt_history_value(enum vt_budget_unit unit, double value, char *text);
/* "total.allocated: +28.00 MiB (+8.2 %) at abc, run 17 of 40: 370.00 MiB, was ..."; free(). */
char *vt_history_sentence(const struct vt_history *history, const struct vt_history_series *series,
			  const struct vt_level_shift *step);

#endif
