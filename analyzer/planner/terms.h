/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERMS_H
#define VT_ANALYZER_TERMS_H

/*
 * Each adds to a plan the terms that its file (terms_NAME.c) knows.
 */

#include "analyzer/planner/plan.h"

void vt_terms_states(struct vt_plan *plan);
void vt_terms_activations(struct vt_plan *plan);
void vt_terms_bursts(struct vt_plan *plan);
void vt_terms_logits(struct vt_plan *plan);
void vt_terms_cache(struct vt_plan *plan);
void vt_terms_vision(struct vt_plan *plan);
void vt_terms_workspace(struct vt_plan *plan);

/* Attention with scores: as asked for, or because transformers has nothing else for the model. */
int vt_terms_is_eager(const struct vt_plan *plan);

/*
 * Where the first half of an mlp has a bias, its gradient is summed when what the mlp kept has
 * gone: whether that moment is the widest of a layer's way backward.
 */
int vt_terms_is_bias_widest(const struct vt_plan *plan);

#endif
