/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SIZES_H
#define VT_ANALYZER_SIZES_H

/*
 * The numbers that formulas name: vtrace-estimate(1) lists the names.
 */

#include "analyzer/planner/load.h"
#include "analyzer/planner/plan.h"

/* Defines every symbol from the model, the settings and the card. */
void vt_sizes_define(struct vt_plan *plan);

/* Replays the loading of the model with the settings; *load is filled with its results. */
void vt_sizes_load(const struct vt_plan *plan, struct vt_load *load);

#endif
