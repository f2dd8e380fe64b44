/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/formula_symbols.h"

#include <math.h>
#include <string.h>

#include "analyzer/replay/cublas_workspace.h"
#include "analyzer/replay/settings.h"

/* Tensors of fewer elements keep their states in fp32 (bitsandbytes, min_8bit_size). */
#define MIN_8BIT_ELEMENTS 4096

static void define(struct vt_plan *plan, const char *name, double value)
{
	vt_formula_define(&plan->symbols, name, strlen(name), value);
}

static double setting(const struct vt_plan *plan, enum vt_setting id)
{
	return (double)vt_plan_setting(plan, id);
}

/* Bytes of one element of a type of VT_SET_DTYPE and its like; VT_DTYPE_AUTO has none. */
static double dtype_bytes(int64_t dtype)
{
	static const double bytes[] = {
		[VT_DTYPE_AUTO] = 0,   [VT_DTYPE_FP32] = 4, [VT_DTYPE_BF16] = 2,
		[VT_DTYPE_FP16] = 2,   [VT_DTYPE_FP8] = 1,  [VT_DTYPE_INT8] = 1,
		[VT_DTYPE_INT4] = 0.5,
	};

	return bytes[dtype];
}

/* Bits per quantised weight with its scales: research, bitsandbytes functional.py, GGML blocks. */
static double quantised_bits(int64_t kind)
{
	static const double bits[] = {
		[VT_QUANTISE_NONE] = 0,
		[VT_QUANTISE_INT8] = 8, /* the fp32 scales per row are a term of their own */
		[VT_QUANTISE_INT4] = 4, /* the ideal: no scales */
		[VT_QUANTISE_NF4] = 4 + 32.0 / 64,
		[VT_QUANTISE_NF4_DOUBLE] = 4 + 8.0 / 64 + 32.0 / (64 * 256),
		[VT_QUANTISE_GPTQ] = 4 + 16.0 / 128 + 4.0 / 128,
		[VT_QUANTISE_AWQ] = 4 + 16.0 / 128 + 4.0 / 128,
		[VT_QUANTISE_Q8_0] = 8 + 16.0 / 32,
		[VT_QUANTISE_Q6_K] = 6.5625,
		[VT_QUANTISE_Q5_K] = 5.5,
		[VT_QUANTISE_Q4_K] = 4.5,
	};

	return bits[kind];
}

/* Types: w weights, e computation, g gradients, o optimizer, r the residual stream, c the cache. */
static void define_types(struct vt_plan *plan)
{
	int64_t dtype = vt_plan_setting(plan, VT_SET_DTYPE);
	int64_t autocast = vt_plan_setting(plan, VT_SET_AUTOCAST);
	int64_t grad = vt_plan_setting(plan, VT_SET_GRAD_DTYPE);
	int64_t state = vt_plan_setting(plan, VT_SET_STATE_DTYPE);
	int64_t kv = vt_plan_setting(plan, VT_SET_KV_DTYPE);
	double w, e;

	/* PyTorch computes in the type of the checkpoint; where that says nothing, in bf16. */
	if (dtype == VT_DTYPE_AUTO)
		dtype = strstr(plan->model->dtype, "32") ? VT_DTYPE_FP32 : VT_DTYPE_BF16;
	w = dtype_bytes(dtype);
	e = autocast ? 2 : w;
	define(plan, "w", w);
	define(plan, "e", e);
	define(plan, "r", w);
	define(plan, "g", grad ? dtype_bytes(grad) : w);
	define(plan, "o",
	       state                                  ? dtype_bytes(state)
	       : vt_plan_setting(plan, VT_SET_MASTER) ? 4
						      : w);
	define(plan, "c", kv ? dtype_bytes(kv) : e);
	define(plan, "group", setting(plan, VT_SET_KV_GROUP));
	define(plan, "bits", quantised_bits(vt_plan_setting(plan, VT_SET_QUANTISE)));
}

/* Whole layers: the rank with the most decides. */
static double layers_share(const struct vt_plan *plan, double layers)
{
	double ranks = setting(plan, VT_SET_PIPELINE);

	return layers ? ceil(layers / ranks) / layers : 1;
}

static void define_stack(struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const struct vt_stack *encoder = &plan->model->stacks[VT_PART_ENCODER];
	double share = layers_share(plan, (double)s->layers), window = (double)s->window;
	double layers = (double)s->layers * share, full = (double)s->full_layers * share;
	double attention = (double)s->attention_layers * share;

	if (vt_plan_setting(plan, VT_SET_WINDOW)) {
		window = setting(plan, VT_SET_WINDOW);
		full = 0;
	}
	define(plan, "h", (double)s->hidden);
	define(plan, "he", (double)s->embedding);
	define(plan, "L", layers);
	define(plan, "ck", fmin(setting(plan, VT_SET_CHECKPOINTED), layers));
	define(plan, "a", (double)s->heads);
	define(plan, "k", (double)s->kv_heads);
	define(plan, "d", (double)s->head_dim);
	define(plan, "dv", (double)s->value_dim);
	define(plan, "i", (double)s->ffn);
	define(plan, "causal", (double)s->causal_buffers);
	define(plan, "smax", (double)s->max_tokens);
	define(plan, "V", s->has_no_head ? 0 : (double)s->vocabulary);
	define(plan, "norms", (double)s->norms);
	define(plan, "La", attention);
	define(plan, "Lmix", (double)s->mixer_layers * share);
	define(plan, "Lfull", window ? full : attention);
	define(plan, "Lwindow", window ? attention - full : 0);
	define(plan, "window", window);
	define(plan, "rank", (double)s->kv_rank);
	define(plan, "rope", (double)s->rope_dim);
	define(plan, "qrank", (double)s->query_rank);
	define(plan, "experts", (double)s->experts);
	define(plan, "chosen", (double)s->experts_per_token);
	define(plan, "ie", (double)s->expert_ffn);
	define(plan, "is", (double)s->shared_ffn);
	define(plan, "Lmoe", s->experts ? (double)(s->mlp_layers - s->dense_layers) * share : 0);
	define(plan, "Ldense", (double)(s->experts ? s->dense_layers : s->mlp_layers) * share);
	define(plan, "state", (double)s->state_bytes * share);
	define(plan, "inner", (double)s->inner);
	define(plan, "states", (double)s->state);
	define(plan, "mh", (double)s->mixer_heads);
	define(plan, "projected", (double)s->projected);
	define(plan, "convolved", (double)s->convolved);
	define(plan, "scanned", (double)s->scanned);
	define(plan, "Lenc", (double)encoder->layers);
	define(plan, "ienc", (double)encoder->ffn);
	define(plan, "sound", (double)encoder->sound);
}

static double images_per_sequence(const struct vt_plan *plan)
{
	if (plan->settings->is_given[VT_SET_VISION])
		return setting(plan, VT_SET_VISION);
	return plan->model->image_tokens ? 1 : 0;
}

/*
 * Rows of a chunk in Liger's fused linear cross-entropy: as many logits as hidden states, up to the
 * next power of two (its fused_linear_cross_entropy.py).
 */
static double liger_chunk(const struct vt_plan *plan)
{
	double tokens = vt_plan_symbol(plan, "T"), hidden = vt_plan_symbol(plan, "h");
	double chunks = hidden ? ceil(vt_plan_symbol(plan, "V") / hidden) : 1;

	return chunks && tokens ? exp2(ceil(log2(ceil(tokens / chunks)))) : tokens;
}

/* A tower alone has its patches. */
static double text_tokens(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];

	if (s->tokens)
		return (double)s->tokens;
	return s->hidden ? setting(plan, VT_SET_SEQ) : 0;
}

static void define_tokens(struct vt_plan *plan)
{
	const struct vt_stack *v = &plan->model->stacks[VT_PART_VISION];
	const struct vt_stack *main = &plan->model->stacks[VT_PART_TEXT];
	const struct vt_stack *encoder = &plan->model->stacks[VT_PART_ENCODER];
	double images = images_per_sequence(plan) * setting(plan, VT_SET_TILES);
	double factor = setting(plan, VT_SET_FACTOR), side = (double)plan->model->patch_side;
	double text = text_tokens(plan) / setting(plan, VT_SET_CONTEXT_PARALLEL);
	double tokens = floor(side / factor) * floor(side / factor), s = text + images * tokens;
	double chunk = setting(plan, VT_SET_CHUNK);

	define(plan, "b", setting(plan, VT_SET_BATCH));
	define(plan, "text", text);
	define(plan, "images", main->tokens ? 1 : images);
	define(plan, "patches", side * side);
	define(plan, "pixels", (double)plan->model->patch_pixels);
	define(plan, "f", factor);
	define(plan, "s", chunk && chunk < s ? chunk : s);
	/* A decoder that follows an encoder begins with one token. */
	define(plan, "sd",
	       plan->model->stacks[VT_PART_ENCODER].layers &&
			       vt_plan_setting(plan, VT_SET_NEW_TOKENS)
		       ? 1
		       : vt_plan_symbol(plan, "s"));
	define(plan, "T", setting(plan, VT_SET_BATCH) * (chunk && chunk < s ? chunk : s));
	define(plan, "Te",
	       setting(plan, VT_SET_BATCH) *
		       (encoder->tokens ? (double)encoder->tokens : vt_plan_symbol(plan, "s")));
	define(plan, "Tall", setting(plan, VT_SET_BATCH) * s);
	define(plan, "n", setting(plan, VT_SET_NEW_TOKENS));
	define(plan, "liger", liger_chunk(plan));
	define(plan, "held", setting(plan, VT_SET_KEEP_LOGITS));
	define(plan, "x", setting(plan, VT_SET_LOSS_CHUNK));
	define(plan, "hv", (double)v->hidden);
	define(plan, "Lv", (double)v->layers);
	define(plan, "av", (double)v->heads);
	define(plan, "iv", (double)v->ffn);
	define(plan, "sv", (double)v->tokens);
	define(plan, "Tv", setting(plan, VT_SET_BATCH) * images * (double)v->tokens);
}

static void define_ranks(struct vt_plan *plan)
{
	define(plan, "t", setting(plan, VT_SET_TENSOR));
	define(plan, "N", setting(plan, VT_SET_DATA));
	define(plan, "cp", setting(plan, VT_SET_CONTEXT_PARALLEL));
	define(plan, "accumulate", setting(plan, VT_SET_ACCUMULATE));
}

int vt_formula_symbols_is_trained(const struct vt_plan *plan, const struct vt_plan_tensor *tensor)
{
	int64_t freeze = vt_plan_setting(plan, VT_SET_FREEZE);

	if (vt_plan_setting(plan, VT_SET_LORA))
		return 0;
	if (freeze == VT_FREEZE_ALL_BUT_PROJECTOR)
		return tensor->part == VT_PART_PROJECTOR;
	return freeze != VT_FREEZE_VISION || tensor->part != VT_PART_VISION;
}

/* What one device holds of a parameter under tensor and pipeline parallelism; vLLM, Megatron. */
static double share_of(const struct vt_plan *plan, const struct vt_plan_tensor *tensor)
{
	int is_cut = tensor->role == VT_ROLE_LINEAR || tensor->role == VT_ROLE_EXPERT ||
		     tensor->role == VT_ROLE_EMBEDDING || tensor->role == VT_ROLE_HEAD;
	double share = is_cut ? 1 / setting(plan, VT_SET_TENSOR) : 1;
	double layers = (double)plan->model->stacks[VT_PART_TEXT].layers;
	double factor = setting(plan, VT_SET_FACTOR);

	if (tensor->is_shuffled)
		share *= factor * factor;
	return tensor->is_in_layer && tensor->part == VT_PART_TEXT
		       ? share * layers_share(plan, layers)
		       : share;
}

static int has_adapter(const struct vt_plan *plan, const struct vt_plan_tensor *tensor)
{
	if (tensor->role != VT_ROLE_LINEAR || tensor->part != VT_PART_TEXT || !tensor->is_in_layer)
		return 0;
	return vt_plan_setting(plan, VT_SET_LORA_TARGETS) == VT_TARGETS_LINEAR ||
	       strstr(tensor->name, "self_attn");
}

static int is_same_load(const struct vt_load *a, const struct vt_load *b)
{
	return a->model == b->model && a->element_bytes == b->element_bytes &&
	       a->is_cast_later == b->is_cast_later && a->rope_bytes == b->rope_bytes;
}

void vt_formula_symbols_to_load(const struct vt_plan *plan, struct vt_load *load)
{
	double w = vt_plan_symbol(plan, "w"), positions = setting(plan, VT_SET_ROPE_CACHE);

	load->model = plan->model;
	load->element_bytes = w;
	load->is_cast_later = vt_plan_setting(plan, VT_SET_LOAD) == 1;
	load->rope_bytes = (uint64_t)(positions * vt_plan_symbol(plan, "d") * w);
}

void vt_formula_symbols_load(const struct vt_plan *plan, struct vt_load *load)
{
	vt_formula_symbols_to_load(plan, load);
	if (plan->load && is_same_load(plan->load, load)) {
		*load = *plan->load;
		return;
	}
	vt_load_replay(load);
	if (plan->load)
		*plan->load = *load;
}

/* PyTorch's: of a larger block less than this is not split off. */
#define LARGE_BLOCK 0x1p20
/* In a segment of 20 MiB, which all smaller blocks share, that is one part in twenty. */
#define MAX_SPREAD 0.05

struct sums {
	double all, trained, quantised, quantised_rows, adapters, small, matrices, factors, vectors;
	double adapted; /* halves of adapters */
	double experts;
	double largest, layer, layer_mlp;
	double stepped_rows, stepped_columns; /* of the largest parameter that is trained */
	double outer_input, outer_output;     /* outside the layers */
	double read;                          /* bits, where a file says them */
	double tails;
	double large; /* how many have a block that is split only where much is left */
};

static void sum_outside(struct sums *sums, const struct vt_plan_tensor *tensor, double elements)
{
	if (tensor->is_in_layer)
		return;
	if (tensor->role == VT_ROLE_HEAD || tensor->role == VT_ROLE_NORM)
		sums->outer_output += elements;
	else
		sums->outer_input += elements;
}

/* Of its parameter: a mixture's experts are one, with both halves of a gate. */
static double parameter_rows(const struct vt_plan *plan, const struct vt_plan_tensor *tensor)
{
	const struct vt_stack *text = &plan->model->stacks[VT_PART_TEXT];
	double rows = (double)tensor->rows;

	if (tensor->role != VT_ROLE_EXPERT)
		return rows;
	return rows * (double)text->experts *
	       (text->mlp == VT_MLP_GATED && !strstr(tensor->name, "down_proj") ? 2 : 1);
}

static void sum_stepped(struct sums *sums, const struct vt_plan_tensor *tensor, double rows)
{
	double columns = (double)tensor->columns;

	if (rows * columns <= sums->stepped_rows * sums->stepped_columns)
		return;
	sums->stepped_rows = rows;
	sums->stepped_columns = columns;
}

static void sum_trained(struct sums *sums, const struct vt_plan_tensor *tensor, double share,
			double rows)
{
	double each = (double)tensor->rows * (double)tensor->columns;
	double elements = each * (double)tensor->count * share;
	int is_matrix = tensor->columns > 1 && tensor->rows > 1;

	sums->trained += elements;
	sum_stepped(sums, tensor, rows);
	if (each < MIN_8BIT_ELEMENTS)
		sums->small += elements;
	if (is_matrix && tensor->is_in_layer)
		sums->matrices += elements;
	if (is_matrix)
		sums->factors +=
			(double)(tensor->rows + tensor->columns) * (double)tensor->count * share;
	else
		sums->vectors += elements;
}

static void sum(const struct vt_plan *plan, struct sums *sums)
{
	const struct vt_stack *text = &plan->model->stacks[VT_PART_TEXT];
	double element = vt_plan_symbol(plan, "w");
	struct vt_settings settings;

	vt_settings_init(&settings, NULL);
	for (size_t i = 0; i < plan->model->nr_tensors; i++) {
		const struct vt_plan_tensor *tensor = &plan->model->tensors[i];
		double share = share_of(plan, tensor), elements, each;

		each = (double)tensor->rows * (double)tensor->columns * share;
		elements = (double)vt_tensor_elements(tensor) * share;
		sums->all += elements;
		sums->read += elements * tensor->bits;
		sum_outside(sums, tensor, elements);
		if (tensor->is_in_layer && tensor->part == VT_PART_TEXT && text->layers)
			sums->layer += (double)vt_tensor_elements(tensor) / (double)text->layers;
		if (tensor->is_in_layer && tensor->part == VT_PART_TEXT && text->layers &&
		    strstr(tensor->name, "mlp."))
			sums->layer_mlp +=
				(double)vt_tensor_elements(tensor) / (double)text->layers;
		if (tensor->role == VT_ROLE_LINEAR || tensor->role == VT_ROLE_EXPERT) {
			sums->quantised += elements;
			sums->quantised_rows += elements / (double)tensor->columns;
		}
		if (tensor->role == VT_ROLE_EXPERT)
			sums->experts += elements;
		sums->tails += (double)tensor->count *
			       (double)vt_settings_tail(&settings, (uint64_t)(each * element));
		if (tensor->columns > 1 && tensor->rows > 1)
			sums->largest =
				fmax(sums->largest, parameter_rows(plan, tensor) *
							    (double)tensor->columns * share);
		if (each * element > LARGE_BLOCK)
			sums->large += (double)tensor->count;
		if (has_adapter(plan, tensor))
			sums->adapted += 2 * (double)tensor->count * share;
		if (has_adapter(plan, tensor))
			sums->adapters += (double)(tensor->rows + tensor->columns) *
					  (double)tensor->count * share;
		if (vt_formula_symbols_is_trained(plan, tensor))
			sum_trained(sums, tensor, share, parameter_rows(plan, tensor));
	}
}

/* How loading ends, replayed where the order of requests decides. */
static double tails_of(const struct vt_plan *plan, const struct sums *sums)
{
	struct vt_load load = { .model = plan->model };

	if (plan->model->is_nominal || vt_plan_setting(plan, VT_SET_QUANTISE) ||
	    vt_plan_setting(plan, VT_SET_ZERO) == 3)
		return 0;
	/* A share of the parameters is not what is replayed. */
	if (!vt_plan_setting(plan, VT_SET_LOAD) && (vt_plan_setting(plan, VT_SET_TENSOR) > 1 ||
						    vt_plan_setting(plan, VT_SET_PIPELINE) > 1))
		return sums->tails;
	vt_formula_symbols_load(plan, &load);
	return load.allocated_bytes ? (double)(load.allocated_bytes - load.requested_bytes)
				    : sums->tails;
}

static void define_parameters(struct vt_plan *plan)
{
	struct sums sums = { 0 };
	double lora = setting(plan, VT_SET_LORA);

	sum(plan, &sums);
	/* The first rank of a pipeline has the embedding, the last one the head. */
	if (vt_plan_setting(plan, VT_SET_PIPELINE) > 1)
		sums.all -= fmin(sums.outer_input, sums.outer_output);
	define(plan, "P", sums.all);
	define(plan, "Ptrained", lora ? 0 : fmin(sums.trained, sums.all));
	define(plan, "Padapters", lora * sums.adapters);
	define(plan, "Pquantised", sums.quantised);
	define(plan, "rows", sums.quantised_rows);
	/* Autocast knows no grouped product: experts compute in the type of their weights. */
	define(plan, "Pexperts", sums.experts);
	define(plan, "Psmall", sums.small);
	define(plan, "Pmatrices", sums.matrices);
	define(plan, "factors", sums.factors);
	define(plan, "vectors", sums.vectors);
	define(plan, "largest", sums.largest);
	define(plan, "unread", fmin(plan->model->unread, VT_FORMULA_MAX / 64));
	define(plan, "lr", sums.stepped_rows);
	define(plan, "lc", sums.stepped_columns);
	define(plan, "Player", sums.layer);
	define(plan, "Pmlp", sums.layer_mlp);
	define(plan, "Pstored", sums.read / 8);
	define(plan, "lora", lora);
	define(plan, "adapted", sums.adapted);
	define(plan, "positions", setting(plan, VT_SET_ROPE_CACHE));
	define(plan, "tails", tails_of(plan, &sums));
	/* Half of what may be left of each, as a share of all. */
	define(plan, "spread",
	       fmin(sums.large * LARGE_BLOCK / 2 / fmax(sums.all * vt_plan_symbol(plan, "w"), 1),
		    MAX_SPREAD));
}

/* Blocks of 128 threads that run at once; where the card does not say, on one like an H100. */
static double running_blocks(const struct vt_gpu *gpu)
{
	const unsigned nr_sms = 132, threads = 2048, block = 128;

	if (gpu && gpu->nr_sms && gpu->sm_threads)
		return (double)gpu->nr_sms * floor((double)gpu->sm_threads / block);
	return nr_sms * threads / block;
}

void vt_formula_symbols_define(struct vt_plan *plan)
{
	const double nominal_context = 0x1p30 * 0.4;

	define_types(plan);
	define_stack(plan);
	define_tokens(plan);
	define_ranks(plan);
	define_parameters(plan);
	define(plan, "blocks", running_blocks(plan->gpu));
	define(plan, "cublas",
	       plan->settings->is_given[VT_SET_CUBLAS] ? setting(plan, VT_SET_CUBLAS)
	       : plan->gpu                             ? (double)plan->gpu->cublas_bytes
						       : VT_CUBLAS_WORKSPACE_BYTES);
	define(plan, "communication", setting(plan, VT_SET_COMMUNICATION));
	define(plan, "context",
	       vt_plan_setting(plan, VT_SET_CONTEXT)   ? setting(plan, VT_SET_CONTEXT)
	       : plan->gpu && plan->gpu->context_bytes ? (double)plan->gpu->context_bytes
						       : nominal_context);
}
