/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLANNED_RUN_H
#define VT_ANALYZER_PLANNED_RUN_H

/*
 * Runs a planned model on the simulator and records it.  What was run is kept in the cache folder
 * (VTRACE_CACHE, XDG_CACHE_HOME/vtrace, ~/.cache/vtrace) under a hash of everything that decides
 * it: model, settings, card, Python and its libraries, this vtrace, the allocator's environment.
 * The next question is answered from there; of a script, which may import anything, never.
 */

#include <jansson.h>

#include "analyzer/base/diag.h"
#include "analyzer/planner/plan_settings.h"

struct vt_planned_run_request {
	const char *model;   /* a folder, a configuration, a preset, or FILE.py:FUNCTION */
	const char *python;  /* program */
	const char *profile; /* of the simulator, with its options */
	const struct vt_plan_settings *settings;
};

struct vt_planned_run {
	char *recording; /* path of the database */
	json_t *result;	 /* what model_run.py says of it */
	int is_kept;	 /* it was run before */
};

/*
 * 0, or -1 with `diag` filled: no such Python, a model or a setting that cannot be run (exit code
 * 3).  vt_planned_run_release in both cases.
 */
int vt_planned_run_make(struct vt_planned_run *run, const struct vt_planned_run_request *request,
			struct vt_diag *diag);
void vt_planned_run_release(struct vt_planned_run *run);

#endif
