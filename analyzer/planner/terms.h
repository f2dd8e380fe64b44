/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERMS_H
#define VT_ANALYZER_TERMS_H

#include "analyzer/planner/plan.h"

/*
 * Adds to a plan the terms of its settings' rules (term_rules.h; the built-in ones unless a user
 * has others) whose conditions hold.  What fails is an error of the plan.
 */
void vt_terms_add(struct vt_plan *plan);

#endif
