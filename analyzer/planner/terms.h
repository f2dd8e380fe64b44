/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERMS_H
#define VT_ANALYZER_TERMS_H

#include "analyzer/planner/plan.h"

/*
 * Adds to a plan the terms of its settings' rules (term_rules.h; the built-in ones unless a user
 * has others) whose conditions hold.  What fails is an error of the plan.
 */
void vt_terms_add(struct vt_plan *plan);

/* Each adds to a plan the terms that its file (terms_NAME.c) knows. */
void vt_terms_activations(struct vt_plan *plan);
void vt_terms_transients(struct vt_plan *plan);
void vt_terms_logits(struct vt_plan *plan);
void vt_terms_vision(struct vt_plan *plan);
void vt_terms_workspace(struct vt_plan *plan);

/*
 * What `layers` layers of the text keep for backward, in bytes per token and layer.
 * `is_recomputed`: one layer's worth at a time.
 */
void vt_terms_add_piece(struct vt_plan *plan, const char *owner, const char *layers,
			const char *bytes, const char *why, int is_recomputed);

/* The same over other tokens than the text's ("T"): a symbol.  `layers` NULL: once, in no layer. */
void vt_terms_add_piece_of(struct vt_plan *plan, const char *owner, const char *layers,
			   const char *tokens, const char *bytes, const char *why,
			   int is_recomputed);

/* What an encoder keeps that stands beside the text's decoder, and the attention to it. */
void vt_terms_encoder(struct vt_plan *plan, int is_recomputed);

/* What an encoder gave, and the last hidden states of the decoder beside it; inference. */
void vt_terms_encoder_output(struct vt_plan *plan);

/* What a formula gives; 0 where it fails. */
double vt_terms_value(const struct vt_plan *plan, const char *formula);

/*
 * The width of an mlp that every token goes through: that of shared experts where all layers are
 * mixtures.
 */
const char *vt_terms_mlp_width(const struct vt_plan *plan);

/* Tensors of the mlp's width that one layer keeps. */
int vt_terms_mlp_tensors(const struct vt_plan *plan, const struct vt_stack *stack);

/* What layers that mix tokens without attention keep. */
void vt_terms_mixer(struct vt_plan *plan, int is_recomputed);
/* Checkpointing of the first `ck` layers: what others keep stays, one more is recomputed. */
int vt_terms_is_partial(const struct vt_plan *plan);

/* Whether operators of PyTorch do it, which take much for a moment. */
int vt_terms_is_scanned(const struct vt_plan *plan);
/* Bytes per token of that moment, and what its way backward takes. */
const char *vt_terms_widest_of_mixer(const struct vt_plan *plan);
void vt_terms_mixer_transient(struct vt_plan *plan, unsigned stages);

/* The symbols of how many layers have attention, or mix without it. */
const char *vt_terms_attentions(const struct vt_plan *plan);
const char *vt_terms_mixers(const struct vt_plan *plan);

/* What attention keeps; of the file that has the layers' other parts. */
void vt_terms_attention(struct vt_plan *plan, int is_recomputed);

/* What ranks that share a sequence's tokens hand round. */
void vt_terms_ring(struct vt_plan *plan);

/* A frozen linear layer keeps no input, a frozen norm not what its weight is multiplied with. */
int vt_terms_is_frozen(const struct vt_plan *plan);

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
