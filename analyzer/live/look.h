/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_LOOK_H
#define VT_ANALYZER_LIVE_LOOK_H

/*
 * One reading of what is recorded now: everything that a command shows or checks comes from it.
 */

#include <stdint.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/diag.h"
#include "analyzer/ranks/ranks_runs.h"

struct vt_look {
	struct vt_ranks_runs runs; /* of a folder, or of the one recording */
	int is_folder;
	struct vt_analysis analysis; /* of the one recording, until vt_look_close */
	int is_running;              /* a program still records */
	uint64_t took_ns;            /* until it was read */
	uint64_t start_processor_ns; /* vt_clock_processor_ns() before */
};

/* 0, or -1 with `diag` filled: nothing can be read.  vt_look_release in both cases. */
int vt_look_init(struct vt_look *look, const char *path, struct vt_diag *diag);
/* The same, as it was when most was in use, not as it is now. */
int vt_look_init_at_peak(struct vt_look *look, const char *path, struct vt_diag *diag);
/* Leaves the recording alone, for who writes into it; the other fields stay. */
void vt_look_close(struct vt_look *look);
void vt_look_release(struct vt_look *look);

/*
 * The pause until the next look, when all has been done with this one: `every_s`, or more, for
 * looks take a tenth of the time and of a processor at most.
 */
uint64_t vt_look_pause_ms(const struct vt_look *look, int64_t every_s);

#endif
