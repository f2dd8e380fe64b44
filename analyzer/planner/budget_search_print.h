/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BUDGET_SEARCH_PRINT_H
#define VT_ANALYZER_BUDGET_SEARCH_PRINT_H

#include <stdio.h>

#include "analyzer/planner/budget_search.h"

/* What fits the device of `plan`, which was searched. */
void vt_budget_search_print_text(const struct vt_budget_search *budget, const struct vt_plan *plan,
				 FILE *out);
void vt_budget_search_print_json(const struct vt_budget_search *budget, const struct vt_plan *plan,
				 FILE *out);

#endif
