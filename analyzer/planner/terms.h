/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERMS_H
#define VT_ANALYZER_TERMS_H

/*
 * Each adds to a plan the terms that its file (terms_NAME.c) knows.
 */

#include "analyzer/planner/plan.h"

void vt_terms_states(struct vt_plan *plan);
void vt_terms_activations(struct vt_plan *plan);
void vt_terms_logits(struct vt_plan *plan);
void vt_terms_cache(struct vt_plan *plan);
void vt_terms_vision(struct vt_plan *plan);
void vt_terms_workspace(struct vt_plan *plan);

#endif
