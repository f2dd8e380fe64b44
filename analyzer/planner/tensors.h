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
	int has_bare_norms;       /* without parameters */
	int has_sinks;            /* one more score per head, learned */
	int has_expert_biases;    /* of the router, too */
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
	uint64_t encoder_positions; /* learned, of an encoder beside a decoder */
	uint64_t sound;             /* an encoder's inputs: numbers per moment, convolved twice */
	int has_embedding_norm;
	int has_no_last_norm;
	enum vt_mixer_kind mixer;
	uint64_t kernel, rank;     /* of mixers */
	uint64_t mixer_heads;
	uint64_t projected;        /* outputs of a mixer's first product */
	uint64_t convolved;        /* of these, those that are convolved */
	uint64_t mixer_norm;       /* width of the norm before a mixer's last product, 0: none */
	int has_conv_bias;
	int has_mixer_norms;       /* of steps, inputs and outputs of the state */
	int has_query_gate;        /* queries come with a gate of their width */
	uint64_t shared_layers;    /* that use the same attention and mlp */
	uint64_t shared_blocks;    /* how many of these there are */
	uint64_t attention_inputs; /* where they are not the residual stream's */
	uint64_t adapter_rank;     /* of what such layers have of their own */
	int has_attention_adapters;
};

void vt_tensors_decoder(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_encoder(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_encoder_decoder(struct vt_architecture *model, const struct vt_tensor_style *style);
void vt_tensors_vision(struct vt_architecture *model, const struct vt_tensor_style *style);

#endif
