/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TENSORS_H
#define VT_ANALYZER_TENSORS_H

/*
 * The shape of every parameter, from the sizes of a stack.
 */

#include "analyzer/planner/architecture.h"

/* What a family says beyond sizes; X(NAME, letter of "biases" in families.ini). */
#define VT_BIASES(X)                                                                               \
	X(QUERY, 'q')                                                                              \
	X(KEY, 'k')                                                                                \
	X(VALUE, 'v')                                                                              \
	X(OUTPUT, 'o')                                                                             \
	X(MLP, 'm')                                                                                \
	X(HEAD, 'h')                                                                               \
	X(NORM, 'n')

enum vt_bias {
#define VT_BIAS_ID(name, letter) VT_BIAS_##name,
	VT_BIASES(VT_BIAS_ID)
#undef VT_BIAS_ID
	VT_NR_BIASES
};

struct vt_tensor_style {
	int has_bias[VT_NR_BIASES];
	int has_full_qk_norm;     /* over all heads instead of one */
	int has_shared_gate;      /* the shared expert has a gate of one output */
	uint64_t query_rank;      /* latent attention */
	uint64_t nope_dim;
	uint64_t patch, channels; /* vision */
	uint64_t class_tokens;    /* one more token each, one parameter of width hidden */
	int has_pre_norm;         /* a norm before the first layer */
	int has_patch_bias;
	int has_pooler;           /* hidden x hidden */
	uint64_t labels;          /* of a classifier instead of a head */
	uint64_t segments;        /* kinds of segments that an encoder has vectors for */
	int has_attention_head;   /* SigLIP: a probe that attends, and an mlp */
	uint64_t relative_buckets; /* T5 */
	uint64_t state, kernel, rank; /* state-space */
};

void vt_tensors_decoder(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_encoder(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_encoder_decoder(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_state_space(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_vision(struct vt_architecture *model, const struct vt_tensor_style *style);

#endif
