/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RUNS_H
#define VT_ANALYZER_RUNS_H

/*
 * What differs between two runs before any byte is counted: command, versions, devices, settings,
 * shapes of the inputs, how they ended, what was not recorded.
 */

#include <stdint.h>

#include "analyzer/analysis/analysis.h"

struct vt_runs_row {
	char *what;    /* "command", "torch", "input ids" */
	char *text[2]; /* of the base and of the new run; NULL: not known there */
};

struct vt_runs {
	struct vt_runs_row *rows;
	uint32_t nr;
};

void vt_runs_init(struct vt_runs *runs, struct vt_analysis *const *sides);
void vt_runs_release(struct vt_runs *runs);

#endif
