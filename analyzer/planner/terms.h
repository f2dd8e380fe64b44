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

/*
 * What `layers` layers of the text keep for backward, in bytes per token and layer.
 * `is_recomputed`: one layer's worth at a time.
 */
void vt_terms_add_piece(struct vt_plan *plan, const char *owner, const char *layers,
			const char *bytes, const char *why, int is_recomputed);

/* What attention keeps; of the file that has the layers' other parts. */
void vt_terms_attention(struct vt_plan *plan, int is_recomputed);

/* What ranks that share a sequence's tokens hand round. */
void vt_terms_ring(struct vt_plan *plan);

/* "/t" where ranks share a layer. */
const char *vt_terms_over(const struct vt_plan *plan);

/* SDPA that computes scores, because none of its kernels takes these queries and keys. */
int vt_terms_is_math(const struct vt_plan *plan);

/* Attention with scores: as asked for, or because transformers has nothing else for the model. */
int vt_terms_is_eager(const struct vt_plan *plan);

/*
 * Where the first half of an mlp has a bias, its gradient is summed when what the mlp kept has
 * gone: whether that moment is the widest of a layer's way backward.
 */
int vt_terms_is_bias_widest(const struct vt_plan *plan);

#endif
