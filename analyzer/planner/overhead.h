/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OVERHEAD_H
#define VT_ANALYZER_OVERHEAD_H

/*
 * What the machine and its libraries take, from a recorded run instead of a table.
 */

#include "analyzer/base/diag.h"
#include "analyzer/planner/plan_settings.h"

/*
 * Fills VT_SET_CONTEXT, VT_SET_CUBLAS and VT_SET_COMMUNICATION where the user has not, from what
 * the fullest device of that recording held at its peak.  0, or -1 with `diag` filled (exit code
 * 3).
 */
int vt_overhead_read(struct vt_plan_settings *settings, const char *path, struct vt_diag *diag);

#endif
