/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXPORT_H
#define VT_ANALYZER_EXPORT_H

/* The tables of the ranks of one run, or of one recording, as files for other programs. */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/ranks/rank.h"

struct vt_export_options {
	struct vt_rank_options rank;
	const char *output; /* a folder: made, or empty */
	uint32_t run;	    /* of a folder of recordings, as vt_ranks_runs_init has it */
	int is_parquet;     /* else CSV */
};

/*
 * `path`: a recording, or a folder of them.  0, or -1 with `diag` filled.  `nr_ranks`: how many
 * were written.
 */
int vt_export_run(const char *path, const struct vt_export_options *options, uint32_t *nr_ranks,
		  struct vt_diag *diag);

#endif
