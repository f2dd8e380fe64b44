/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ESTIMATE_H
#define VT_ANALYZER_ESTIMATE_H

/*
 * A model, settings and a card to a plan.
 */

#include "analyzer/base/diag.h"
#include "analyzer/planner/plan.h"

/*
 * Fills *plan, which the caller zeroed; model, settings and gpu must stay.  0, or -1 with `diag`
 * filled: settings that are not of that model (exit code 2, validation.h), sizes whose products no
 * device can hold (exit code 3).
 */
int vt_estimate_make(struct vt_plan *plan, struct vt_diag *diag);

#endif
