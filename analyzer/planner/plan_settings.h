/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLAN_SETTINGS_H
#define VT_ANALYZER_PLAN_SETTINGS_H

/*
 * The settings of a planned run.  One table has what the command line accepts, what --what-if may
 * change, and the text of the help.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"

#define VT_DTYPES        "fp32 bf16 fp16"
#define VT_AUTO          "auto "

/*
 * X(ID, name, KIND, default, limits, argument of the help, whether it changes results, help)
 *	NUMBER   whole, "MIN MAX"
 *	WORD     one of the words; its value is its place in the list
 *	BYTES    "24GiB"
 */
#define VT_SETTINGS(X)                                                                             \
X(MODE, "mode", WORD, 0, "infer train", "WORD", 0, "the run, as set by --train and --infer")                      \
X(BATCH, "batch", NUMBER, 1, "1 1000000000", "N", 0, "sequences at a time on one device (default: 1)")                \
X(SEQ, "seq", NUMBER, 2048, "1 1000000000", "N", 0, "text tokens per sequence (default: 2048)")                       \
X(NEW_TOKENS, "new-tokens", NUMBER, 0, "0 1000000000", "N", 0, "tokens to generate after the prompt (default: 0)")           \
X(DTYPE, "dtype", WORD, 0, VT_AUTO VT_DTYPES, "WORD", 1, "dtype of weights and computation")           \
X(AUTOCAST, "autocast", WORD, 0, "no bf16 fp16", "WORD", 1, "autocast dtype (weights unchanged)")       \
X(MASTER, "master", WORD, 0, "no fp32", "WORD", 1, "a master copy of the weights in this dtype")                  \
X(GRAD_DTYPE, "grad-dtype", WORD, 0, VT_AUTO VT_DTYPES, "WORD", 1, "dtype of gradients (auto: that of the weights)")             \
X(STATE_DTYPE, "state-dtype", WORD, 0, VT_AUTO VT_DTYPES, "WORD", 1, "dtype of optimizer states (auto: that of the weights)")           \
X(OPTIMIZER, "optimizer", WORD, 0, "adamw adamw8bit sgd momentum adafactor muon", "WORD", 1, "the optimizer")        \
X(OPTIMIZER_LOOP, "optimizer-loop", WORD, 0, "foreach fused single", "WORD", 0, "implementation of the optimizer's step")    \
X(ACCUMULATE, "accumulate", NUMBER, 1, "1 1000000", "N", 0, "micro-batches per step (default: 1)")                    \
X(CHECKPOINTING, "checkpointing", WORD, 0, "none full selective", "WORD", 0, "recompute whole layers, or only attention scores")        \
X(CHECKPOINTED, "checkpointed-layers", NUMBER, 0, "0 10000", "N", 0, "with --checkpointing full: only the first N layers (0: all)")       \
X(ATTENTION, "attention", WORD, 0, "sdpa eager flash", "WORD", 0, "attention kernel")                           \
X(SCAN, "scan", WORD, 0, "fused sequential", "WORD", 0, "state-space layers: in a kernel, or token by token")      \
X(MASK, "mask", WORD, 0, "no yes", "WORD", 0, "the input is padded and needs a mask (implies --repeat-kv yes)")                                  \
X(REPEAT_KV, "repeat-kv", WORD, 0, "no yes", "WORD", 0, "repeat keys and values for all heads")        \
X(ROPE_CACHE, "rope-cache", NUMBER, 0, "0 1000000000", "N", 0, "length of a cos and sin table in every layer, in tokens")        \
X(LOAD, "load", WORD, 0, "direct cast-later", "WORD", 0, "load in the final dtype, or load fp32 and cast on the device")       \
X(LOSS, "loss", WORD, 0, "upcast plain copied chunked checkpointed fused", "WORD", 0, "cross-entropy implementation")         \
X(LOSS_CHUNK, "loss-chunk", NUMBER, 4096, "1 1000000000", "N", 0, "tokens per chunk of the loss (default: 4096)")     \
X(KEEP_LOGITS, "keep-logits", WORD, 0, "no yes", "WORD", 0, "the script holds the model's output during backward")        \
X(LOGITS, "logits", WORD, 0, "auto all last", "WORD", 0, "inference: logits of all positions or of the last")                   \
X(LORA, "lora", NUMBER, 0, "0 100000", "RANK", 1, "train only LoRA adapters, of this rank")                                 \
X(LORA_TARGETS, "lora-targets", WORD, 0, "linear attention", "WORD", 1, "layers that get adapters")    \
X(LORA_DROPOUT, "lora-dropout", WORD, 0, "no yes", "WORD", 1, "dropout on adapter inputs")                             \
X(QUANTISE, "quantise", WORD, 0, "none int8 int4 nf4 nf4-double gptq awq q8_0 q6_k q5_k q4_k", "WORD", 1, "quantisation of linear layers")\
X(FREEZE, "freeze", WORD, 0, "none vision all-but-projector", "WORD", 1, "parts that are not trained")                   \
X(TENSOR, "tensor-parallel", NUMBER, 1, "1 100000", "N", 0, "tensor-parallel ranks, which share each layer")                            \
X(SEQUENCE, "sequence-parallel", WORD, 0, "no yes", "WORD", 0, "also split norms across the tensor-parallel ranks")                \
X(PIPELINE, "pipeline-parallel", NUMBER, 1, "1 100000", "N", 0, "pipeline-parallel ranks, which share the layers")                        \
X(CONTEXT_PARALLEL, "context-parallel", NUMBER, 1, "1 100000", "N", 0, "ranks that share the tokens of each sequence (ring attention)")\
X(DATA, "data-parallel", NUMBER, 1, "1 1000000", "N", 0, "data-parallel ranks (--batch is per rank)")            \
X(ZERO, "zero", NUMBER, 0, "0 3", "N", 0, "ZeRO stage; 3 is FSDP (default: 0)")                                       \
X(BUCKET_VIEW, "bucket-view", WORD, 0, "no yes", "WORD", 0, "DDP: gradient_as_bucket_view")                           \
X(OFFLOAD, "offload", WORD, 0, "none optimizer weights", "WORD", 0, "keep these in host memory")                            \
X(KV_CACHE, "kv-cache", WORD, 0, "dynamic static paged latent none expanded", "WORD", 0, "cache class")     \
X(KV_DTYPE, "kv-dtype", WORD, 0, VT_AUTO VT_DTYPES " fp8 int8 int4", "WORD", 1, "dtype of keys and values")                    \
X(KV_GROUP, "kv-group", NUMBER, 64, "8 65536", "N", 0, "elements per scale of int8, int4 (default: 64)")              \
X(WINDOW, "window", NUMBER, 0, "0 1000000000", "N", 1, "attention window of all layers, in tokens (default: the model's)")      \
X(VISION, "images", NUMBER, 0, "0 100000", "N", 0, "images per sequence (default: 1 with a vision part)")             \
X(TILES, "tiles", NUMBER, 1, "1 100000", "N", 1, "tiles per image (default: 1)")                                      \
X(FACTOR, "factor", NUMBER, 1, "1 100000", "N", 1, "pixel shuffle: F*F patches become one token")                     \
X(KEEP, "keep", WORD, 0, "none residual all", "WORD", 0, "keep these activations of a forward, for interpretability")     \
X(KEEP_ON, "keep-on", WORD, 0, "auto device host", "WORD", 0, "where kept activations are stored (auto: host after each --chunk)")     \
X(CHUNK, "chunk", NUMBER, 0, "0 1000000000", "N", 1, "forward this many tokens at a time, each chunk independently")             \
X(CONTEXT, "context", BYTES, 0, "", "SIZE", 0, "CUDA context, if measured (default: the card's, or a range)") \
X(CUBLAS, "cublas", BYTES, 0, "", "SIZE", 0, "cuBLAS workspaces, if measured (default: the card's)")                 \
X(COMMUNICATION, "communication", BYTES, 0, "", "SIZE", 0, "NCCL buffers, if measured (default: a range)")

enum vt_setting {
#define VT_SETTING_ID(id, name, kind, standard, limits, argument, changes, help) VT_SET_##id,
	VT_SETTINGS(VT_SETTING_ID)
#undef VT_SETTING_ID
	VT_NR_SETTINGS
};

/* Words whose place in their list the planner asks for. */
enum { VT_MODE_INFER, VT_MODE_TRAIN };
enum { VT_DTYPE_AUTO, VT_DTYPE_FP32, VT_DTYPE_BF16, VT_DTYPE_FP16, VT_DTYPE_FP8, VT_DTYPE_INT8,
       VT_DTYPE_INT4 };
enum { VT_OPTIMIZER_ADAMW, VT_OPTIMIZER_ADAMW8BIT, VT_OPTIMIZER_SGD, VT_OPTIMIZER_MOMENTUM,
       VT_OPTIMIZER_ADAFACTOR, VT_OPTIMIZER_MUON };
enum { VT_LOOP_FOREACH, VT_LOOP_FUSED, VT_LOOP_SINGLE };
enum { VT_CHECKPOINTING_NONE, VT_CHECKPOINTING_FULL, VT_CHECKPOINTING_SELECTIVE };
enum { VT_ATTENTION_SDPA, VT_ATTENTION_EAGER, VT_ATTENTION_FLASH };
enum { VT_SCAN_FUSED, VT_SCAN_SEQUENTIAL };
enum { VT_LOSS_UPCAST, VT_LOSS_PLAIN, VT_LOSS_COPIED, VT_LOSS_CHUNKED, VT_LOSS_CHECKPOINTED,
       VT_LOSS_FUSED };
enum { VT_LOGITS_AUTO, VT_LOGITS_ALL, VT_LOGITS_LAST };
enum { VT_TARGETS_LINEAR, VT_TARGETS_ATTENTION };
enum { VT_QUANTISE_NONE, VT_QUANTISE_INT8, VT_QUANTISE_INT4, VT_QUANTISE_NF4,
       VT_QUANTISE_NF4_DOUBLE, VT_QUANTISE_GPTQ, VT_QUANTISE_AWQ, VT_QUANTISE_Q8_0,
       VT_QUANTISE_Q6_K, VT_QUANTISE_Q5_K, VT_QUANTISE_Q4_K };
enum { VT_FREEZE_NONE, VT_FREEZE_VISION, VT_FREEZE_ALL_BUT_PROJECTOR };
enum { VT_OFFLOAD_NONE, VT_OFFLOAD_OPTIMIZER, VT_OFFLOAD_WEIGHTS };
enum { VT_KV_DYNAMIC, VT_KV_STATIC, VT_KV_PAGED, VT_KV_LATENT, VT_KV_NONE,
       VT_KV_EXPANDED };
enum { VT_KEEP_NONE, VT_KEEP_RESIDUAL, VT_KEEP_ALL };
enum { VT_KEEP_ON_AUTO, VT_KEEP_ON_DEVICE, VT_KEEP_ON_HOST };

struct vt_term_rules;

struct vt_plan_settings {
	int64_t value[VT_NR_SETTINGS];
	int is_given[VT_NR_SETTINGS]; /* by the user */
	const struct vt_term_rules *terms; /* the user's formulas; NULL: the built-in ones */
};

struct vt_setting_row {
	const char *name;
	const char *argument;
	const char *help;
	int changes_results;
};

void vt_plan_settings_init(struct vt_plan_settings *settings);
const struct vt_setting_row *vt_plan_settings_row(enum vt_setting id);
/* The setting of that name (`len` bytes), or -1. */
int vt_plan_settings_find(const char *name, size_t len);

/* Reads a value as a user writes it.  0, or -1 with `diag` filled (exit code 2). */
int vt_plan_settings_set(struct vt_plan_settings *settings, enum vt_setting id, const char *text,
		    struct vt_diag *diag);

/* The value as a user would write it; buf[size]. */
const char *vt_plan_settings_text(const struct vt_plan_settings *settings, enum vt_setting id,
				  char *buf, size_t size);

/* The words that it can be, NULL: it takes none. */
const char *vt_plan_settings_words(enum vt_setting id);

/* The word at that place of its list into buf[size]; 0: it has none there, or takes no words. */
int vt_plan_settings_word(enum vt_setting id, size_t place, char *buf, size_t size);

/* Whether it has the value that it has where nobody says another. */
int vt_plan_settings_is_standard(const struct vt_plan_settings *settings, enum vt_setting id);

#endif
