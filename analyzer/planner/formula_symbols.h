/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FORMULA_SYMBOLS_H
#define VT_ANALYZER_FORMULA_SYMBOLS_H

/*
 * The numbers that formulas name: vtrace-estimate(1) lists the names.
 */

#include "analyzer/planner/load.h"
#include "analyzer/planner/plan.h"

/* Defines every symbol from the model, the settings and the card. */
void vt_formula_symbols_define(struct vt_plan *plan);

/* Replays the loading of the model with the settings; *load is filled with its results. */
void vt_formula_symbols_load(const struct vt_plan *plan, struct vt_load *load);

/* The same without playing it: what to play. */
void vt_formula_symbols_to_load(const struct vt_plan *plan, struct vt_load *load);

/* Whether this run trains that parameter itself (not through an adapter). */
int vt_formula_symbols_is_trained(const struct vt_plan *plan, const struct vt_plan_tensor *tensor);

#endif
