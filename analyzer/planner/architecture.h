/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ARCHITECTURE_H
#define VT_ANALYZER_ARCHITECTURE_H

/*
 * A model as the planner sees it: the sizes of its stacks of layers, and the shape of every
 * parameter.  Nothing here knows where they came from (config.c, tensor_file.c).
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/util.h"

/* X(NAME, text): what a parameter is, which decides how it is quantised, cut and adapted. */
#define VT_TENSOR_ROLES(X)                                                                         \
	X(EMBEDDING, "embedding")                                                                  \
	X(HEAD, "head")                                                                            \
	X(LINEAR, "linear")                                                                        \
	X(EXPERT, "expert")                                                                        \
	X(NORM, "norm")                                                                            \
	X(BIAS, "bias")                                                                            \
	X(OTHER, "other")

enum vt_tensor_role {
#define VT_TENSOR_ROLE_ID(name, text) VT_ROLE_##name,
	VT_TENSOR_ROLES(VT_TENSOR_ROLE_ID)
#undef VT_TENSOR_ROLE_ID
	VT_NR_ROLES
};

enum vt_part {
	VT_PART_TEXT,
	VT_PART_ENCODER, /* of an encoder-decoder */
	VT_PART_VISION,
	VT_PART_PROJECTOR,
	VT_NR_PARTS
};

/* `count` equal parameters of rows x columns; rows = outputs of a linear layer. */
struct vt_plan_tensor {
	char name[64]; /* "layers.*.mlp.up_proj.weight" */
	enum vt_tensor_role role;
	enum vt_part part;
	int is_in_layer; /* of a layer: cut by pipeline parallelism */
	uint64_t rows, columns, count;
	double bits; /* per element as stored in a file; 0: as the run's type says */
	char dtype[16]; /* as stored in a file, as in config.json: "bfloat16"; "": another */
	int is_shuffled; /* its inputs are as many patches as pixel shuffle makes one */
};

enum vt_norm_kind {
	VT_NORM_RMS,
	VT_NORM_RMS_FP32,
	VT_NORM_LAYER,
	VT_NORM_LAYER_FP32, /* no kernel of its own: written out in fp32, without a bias */
};
enum vt_mlp_kind { VT_MLP_GATED, VT_MLP_PLAIN };

/* What mixes tokens where attention does not. */
enum vt_mixer_kind {
	VT_MIXER_NONE,
	VT_MIXER_MAMBA,       /* steps and states of every element of the width (S6) */
	VT_MIXER_MAMBA2,      /* of every head (SSD) */
	VT_MIXER_DELTA,       /* gated delta rule: a state of keys by values per head */
	VT_MIXER_CONVOLUTION, /* a short convolution between two gates, no state */
};

/* A stack of equal transformer layers; all zero where the model has none. */
struct vt_stack {
	uint64_t layers, attention_layers, mixer_layers, mlp_layers;
	uint64_t hidden, heads, kv_heads, head_dim, ffn;
	uint64_t value_dim; /* per head; head_dim but for latent attention */
	uint64_t vocabulary;
	uint64_t embedding;     /* width of embeddings and head; a product makes it hidden */
	uint64_t positions;     /* learned, 0 = rotary or none */
	uint64_t reach;         /* tokens that these are enough for */
	uint64_t norms;         /* per layer, of width hidden */
	uint64_t full_layers;   /* attention over everything; the rest sees `window` tokens */
	uint64_t window;        /* 0 = no layer has one */
	uint64_t kv_rank, rope_dim; /* latent attention: what a latent cache holds per token */
	uint64_t query_rank;        /* latent attention: of the queries' product of two; 0: one */
	uint64_t experts, experts_per_token, expert_ffn, shared_ffn, dense_layers;
	uint64_t state_bytes; /* fp32 recurrent state per sequence, all layers */
	uint64_t inner;       /* mixers: expanded width */
	uint64_t state;       /* mixers: numbers per element of it */
	uint64_t mixer_heads, projected, convolved; /* mixers: as of vt_tensor_style */
	uint64_t scanned;     /* mixers: tokens of a chunk */
	enum vt_mixer_kind mixer;
	uint64_t sound;       /* an encoder's inputs per moment, convolved twice; 0: tokens */
	uint64_t tokens;      /* fixed length (vision: patches, with the class token) */
	uint64_t max_tokens;  /* max_position_embeddings, 0 = not said */
	enum vt_norm_kind norm;
	enum vt_mlp_kind mlp;
	int has_qk_norm;
	int has_added_bias;         /* behind the head, by a sum of its own */
	int has_relative_positions; /* a bias of scores, a tensor of their size */
	int has_mlp_bias;
	int activation_steps;   /* what the mlp's activation keeps of its width, its result aside */
	int activation_widest;  /* of its width at once while it is computed, with its input */
	int has_joined_gate;    /* gate and up are halves of one product */
	int has_one_qkv_product;
	int has_fused_qkv;      /* queries, keys and values are parts of one tensor */
	int has_joined_rotary;  /* rotated parts of a head are joined by a copy */
	int has_eager_only;     /* no attention but the eager one */
	int has_fp32_scores;    /* made of copies of queries and keys in fp32 */
	int has_sinks_in_scores; /* one more column of them, which the softmax has, too */
	int has_summed_scores;   /* whose logarithm of sums scales what attention gives */
	int has_held_scores;    /* ... and their sum with a mask beside them */
	int has_returned_weights; /* of scores: each layer gives them to the model */
	uint64_t causal_buffers; /* masks of all positions, a byte for each pair */
	int has_fp32_rotary;    /* queries and keys are rotated in fp32 */
	int has_broadcast_keys; /* SDPA gets fewer heads of keys than of queries, untold */
	int has_shared_norm_input; /* attention and mlp stand side by side, each behind a norm */
	int has_norms_behind;   /* of the sums behind attention and mlp, not before these */
	int is_attention_held;  /* what attention gave is a variable while the mlp runs */
	int is_sum_of_attention; /* what is added to the stream is added in attention's module */
	int is_sum_of_mlp;       /* ... in the mlp's */
	int has_embedding_norm; /* of a decoder */
	int has_dropout;        /* behind attention and mlp, in training */
	int has_attention_dropout;
	int has_embedding_dropout;
	int has_inner_dropout;  /* between the two halves of the mlp, too */
	int is_cache_off;       /* by its configuration: every token goes through all again */
	int has_no_cache;       /* a forward keeps no keys and values for later */
	int has_generated_cache; /* ... but generation does */
	int has_soft_cap;       /* of logits (Gemma 2) */
	int has_scaled_logits;  /* times a number, in a second copy (Cohere, Granite) */
	int has_scores_cap;     /* of attention's scores, too */
	int has_fp32_router;    /* which takes a copy of its input */
	int has_shared_gate;    /* what shared experts give is multiplied with a gate's output */
	int has_fp32_experts;   /* what they give is weighted with numbers in fp32 */
	int has_head_bias;
	int has_no_head;        /* hidden states are what comes out */
	int has_masked_head;    /* a linear layer, its activation, a norm before the head */
	int has_plain_loss;     /* of logits as they are, without an upcast */
};

struct vt_architecture {
	char *name;       /* as the user named it */
	char *family;     /* "llama" */
	char *note;       /* what had to be assumed, NULL if nothing */
	char dtype[16];   /* of the stored weights, "" if not said */
	struct vt_stack stacks[VT_NR_PARTS];
	struct vt_plan_tensor *tensors;
	size_t nr_tensors;
	size_t capacity;
	double elements;  /* of all of them */
	int is_tied;      /* the head is the embedding */
	int is_nominal;   /* only a number of parameters is known */
	int is_guessed;   /* read as a kind that it is not, or keys that say sizes were not read */
	double unread;    /* elements of a matrix in each layer of sizes that were not read */
	int is_too_large; /* more parameters than can be counted exactly */
	uint64_t image_tokens; /* per image, in the text's sequence */
	int has_projector_mlp; /* two linear layers between vision and text */
	uint64_t patch_side;   /* patches along one side of an image */
	uint64_t patch_pixels; /* numbers of a patch: its pixels' channels */
};

void vt_architecture_release(struct vt_architecture *model);

/* Adds to the note.  Takes `text`. */
void vt_architecture_note(struct vt_architecture *model, char *text);

struct vt_tensor_spec {
	enum vt_part part;
	enum vt_tensor_role role;
	uint64_t rows, columns, count;
	int is_in_layer;
};

/* Adds unless it has no elements. */
void vt_architecture_add(struct vt_architecture *model, const char *name,
			 const struct vt_tensor_spec *spec);

/* One more of that entry of the table. */
void vt_architecture_repeat(struct vt_architecture *model, struct vt_plan_tensor *tensor);

/* Elements of all parameters that `is_wanted` (NULL: all) says yes to; exact. */
typedef int (*vt_tensor_fn)(const struct vt_plan_tensor *tensor, const void *context);
uint64_t vt_architecture_count(const struct vt_architecture *model, vt_tensor_fn is_wanted,
			       const void *context);

uint64_t vt_tensor_elements(const struct vt_plan_tensor *tensor);

#endif
