/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/validation.h"

#include <inttypes.h>

#include "analyzer/base/util.h"

/* --- whatever the model ----------------------------------------------------------------------- */

/* A setting that means something in one mode only. */
static int check_mode(const struct vt_plan_settings *settings, struct vt_diag *diag)
{
	static const struct {
		enum vt_setting id;
		int mode;
	} only[] = {
		{ VT_SET_CHECKPOINTING, VT_MODE_TRAIN }, { VT_SET_LOSS, VT_MODE_TRAIN },
		{ VT_SET_OPTIMIZER, VT_MODE_TRAIN },     { VT_SET_ACCUMULATE, VT_MODE_TRAIN },
		{ VT_SET_LORA, VT_MODE_TRAIN },          { VT_SET_MASTER, VT_MODE_TRAIN },
		{ VT_SET_GRAD_DTYPE, VT_MODE_TRAIN },    { VT_SET_STATE_DTYPE, VT_MODE_TRAIN },
		{ VT_SET_FREEZE, VT_MODE_TRAIN },        { VT_SET_KEEP_LOGITS, VT_MODE_TRAIN },
		{ VT_SET_NEW_TOKENS, VT_MODE_INFER },    { VT_SET_KV_CACHE, VT_MODE_INFER },
		{ VT_SET_KV_DTYPE, VT_MODE_INFER },      { VT_SET_LOGITS, VT_MODE_INFER },
		{ VT_SET_KEEP, VT_MODE_INFER },          { VT_SET_CHUNK, VT_MODE_INFER },
		{ VT_SET_OPTIMIZER_LOOP, VT_MODE_TRAIN }, { VT_SET_LOSS_CHUNK, VT_MODE_TRAIN },
		{ VT_SET_LORA_TARGETS, VT_MODE_TRAIN },  { VT_SET_LORA_DROPOUT, VT_MODE_TRAIN },
		{ VT_SET_BUCKET_VIEW, VT_MODE_TRAIN },   { VT_SET_KV_GROUP, VT_MODE_INFER },
		{ VT_SET_KEEP_ON, VT_MODE_INFER },       { VT_SET_CHECKPOINTED, VT_MODE_TRAIN },
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(only); i++) {
		if (!settings->is_given[only[i].id] ||
		    vt_plan_settings_is_standard(settings, only[i].id) ||
		    settings->value[VT_SET_MODE] == only[i].mode)
			continue;
		vt_diag_set(diag, VT_EXIT_USAGE, "--%s %s", vt_plan_settings_row(only[i].id)->name,
			    only[i].mode == VT_MODE_TRAIN ?
				    "only applies with --train" :
				    "only applies with --infer");
		return -1;
	}
	return 0;
}

static const char *wrong_with_shared_tokens(const int64_t *value)
{
	if (value[VT_SET_ATTENTION] == VT_ATTENTION_EAGER)
		return "--context-parallel needs an attention kernel, not --attention eager";
	if (value[VT_SET_CHUNK])
		return "--context-parallel and --chunk exclude each other";
	if (value[VT_SET_SEQ] % value[VT_SET_CONTEXT_PARALLEL])
		return "--context-parallel must divide --seq";
	return NULL;
}

/* A setting that says how another one is done, which is not. */
static const char *wrong_without_other(const struct vt_plan_settings *settings)
{
	const int64_t *value = settings->value;
	int64_t loss = value[VT_SET_LOSS], kv = value[VT_SET_KV_DTYPE];

	if (!vt_plan_settings_is_standard(settings, VT_SET_LOSS_CHUNK) && loss != VT_LOSS_CHUNKED &&
	    loss != VT_LOSS_CHECKPOINTED && loss != VT_LOSS_FUSED)
		return "--loss-chunk only applies with --loss chunked, checkpointed or fused";
	if ((value[VT_SET_LORA_TARGETS] || value[VT_SET_LORA_DROPOUT]) && !value[VT_SET_LORA])
		return "--lora-targets and --lora-dropout only apply with --lora";
	if (value[VT_SET_OPTIMIZER_LOOP] && value[VT_SET_OPTIMIZER] != VT_OPTIMIZER_ADAMW)
		return "--optimizer-loop only applies with --optimizer adamw";
	if (value[VT_SET_BUCKET_VIEW] && value[VT_SET_DATA] == 1)
		return "--bucket-view only applies with --data-parallel above 1";
	if (value[VT_SET_BUCKET_VIEW] && value[VT_SET_ZERO])
		return "--bucket-view does not apply with --zero";
	if (!vt_plan_settings_is_standard(settings, VT_SET_KV_GROUP) && kv != VT_DTYPE_INT8 &&
	    kv != VT_DTYPE_INT4)
		return "--kv-group only applies with --kv-dtype int8 or int4";
	if (value[VT_SET_CHECKPOINTED] && value[VT_SET_CHECKPOINTING] != VT_CHECKPOINTING_FULL)
		return "--checkpointed-layers only applies with --checkpointing full";
	if (value[VT_SET_CHECKPOINTED] && value[VT_SET_PIPELINE] > 1)
		return "--checkpointed-layers does not apply with --pipeline-parallel above 1";
	if (value[VT_SET_KEEP_ON] && !value[VT_SET_KEEP])
		return "--keep-on only applies with --keep";
	return NULL;
}

/* What no runtime does, or what is not planned together. */
static const char *wrong_together(const int64_t *value)
{
	int is_train = value[VT_SET_MODE] == VT_MODE_TRAIN;

	if (value[VT_SET_ATTENTION] == VT_ATTENTION_FLASH && value[VT_SET_DTYPE] == VT_DTYPE_FP32 &&
	    !value[VT_SET_AUTOCAST])
		return "--attention flash supports bf16 and fp16, not --dtype fp32";
	if (value[VT_SET_QUANTISE] && value[VT_SET_OFFLOAD] == VT_OFFLOAD_WEIGHTS)
		return "--quantise and --offload weights are not supported together";
	if (value[VT_SET_OFFLOAD] == VT_OFFLOAD_OPTIMIZER && !is_train)
		return "--offload optimizer only applies with --train";
	if ((value[VT_SET_ZERO] == 1 || value[VT_SET_ZERO] == 2) && !is_train)
		return "--zero 1 and 2 only apply with --train";
	return NULL;
}

int vt_validate_settings(const struct vt_plan_settings *settings, struct vt_diag *diag)
{
	const int64_t *value = settings->value;
	const char *wrong = NULL;

	if (check_mode(settings, diag))
		return -1;
	if (value[VT_SET_QUANTISE] && value[VT_SET_MODE] == VT_MODE_TRAIN && !value[VT_SET_LORA])
		wrong = "--quantise with --train needs --lora: quantised weights cannot be trained";
	else if (value[VT_SET_LORA] && value[VT_SET_FREEZE])
		wrong = "--lora and --freeze exclude each other: only adapters are trained";
	else if (value[VT_SET_ZERO] && value[VT_SET_DATA] == 1)
		wrong = "--zero only applies with --data-parallel above 1";
	else if (value[VT_SET_SEQUENCE] && value[VT_SET_TENSOR] == 1)
		wrong = "--sequence-parallel only applies with --tensor-parallel above 1";
	else if (value[VT_SET_CONTEXT_PARALLEL] > 1)
		wrong = wrong_with_shared_tokens(value);
	if (!wrong && value[VT_SET_KV_CACHE] == VT_KV_NONE && value[VT_SET_NEW_TOKENS])
		wrong = "--kv-cache none does not apply with --new-tokens";
	if (!wrong)
		wrong = wrong_without_other(settings);
	if (!wrong)
		wrong = wrong_together(value);
	if (!wrong)
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "%s", wrong);
	return -1;
}

/* --- of that model ---------------------------------------------------------------------------- */

/* Ranks share whole heads and whole layers: the frameworks refuse anything else, too. */
static int check_ranks(const struct vt_plan_settings *settings,
		       const struct vt_architecture *model, struct vt_diag *diag)
{
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	uint64_t tensor = (uint64_t)settings->value[VT_SET_TENSOR];
	uint64_t pipeline = (uint64_t)settings->value[VT_SET_PIPELINE];

	if (s->heads && s->heads % tensor)
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--tensor-parallel %" PRIu64 ": %" PRIu64
			    " attention heads do not divide by it",
			    tensor, s->heads);
	else if (s->layers && pipeline > s->layers)
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--pipeline-parallel %" PRIu64 ": there are %" PRIu64 " layers",
			    pipeline, s->layers);
	else
		return 0;
	return -1;
}

/* Settings of a part that the model does not have. */
static int check_parts(const struct vt_plan_settings *settings,
		       const struct vt_architecture *model, struct vt_diag *diag)
{
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	int has_tower = model->stacks[VT_PART_VISION].hidden > 0;
	uint64_t factor = (uint64_t)settings->value[VT_SET_FACTOR];
	const int64_t *value = settings->value;
	int64_t cache = value[VT_SET_KV_CACHE];
	const char *wrong = NULL;

	if (!has_tower && (value[VT_SET_FREEZE] || factor > 1 || value[VT_SET_TILES] > 1 ||
			   value[VT_SET_VISION]))
		wrong = "--freeze, --images, --tiles and --factor only apply to models with vision "
			"and text parts";
	else if (has_tower && model->patch_side % factor)
		wrong = "--factor must divide the number of patches per side";
	else if (s->hidden && !s->kv_rank && (cache == VT_KV_LATENT || cache == VT_KV_EXPANDED))
		wrong = "--kv-cache latent and expanded only apply to models with latent attention";
	else if (s->hidden && !s->mixer_layers && value[VT_SET_SCAN])
		wrong = "--scan only applies to models with state-space layers";
	if (!wrong)
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "%s", wrong);
	return -1;
}

/* Tokens that a stack counts positions of. */
static uint64_t counted_tokens(const struct vt_plan_settings *settings,
			       const struct vt_architecture *model, enum vt_part part)
{
	uint64_t seq = (uint64_t)settings->value[VT_SET_SEQ];
	uint64_t new_tokens = (uint64_t)settings->value[VT_SET_NEW_TOKENS];

	if (part == VT_PART_ENCODER)
		return model->stacks[part].tokens ? 0 : seq;
	/* A decoder that follows an encoder begins with one token. */
	if (model->stacks[VT_PART_ENCODER].layers && new_tokens)
		return 1 + new_tokens;
	return seq + new_tokens;
}

/* The part whose learned positions are too few; VT_NR_PARTS: none. */
static enum vt_part short_part(const struct vt_plan_settings *settings,
			       const struct vt_architecture *model)
{
	static const enum vt_part parts[] = { VT_PART_TEXT, VT_PART_ENCODER };

	for (size_t i = 0; i < VT_ARRAY_SIZE(parts); i++) {
		uint64_t reach = model->stacks[parts[i]].reach;

		if (reach && counted_tokens(settings, model, parts[i]) > reach)
			return parts[i];
	}
	return VT_NR_PARTS;
}

void vt_validate_usual_length(struct vt_plan_settings *settings,
			      const struct vt_architecture *model)
{
	enum vt_part part;

	if (settings->is_given[VT_SET_SEQ])
		return;
	part = short_part(settings, model);
	if (part != VT_NR_PARTS) {
		uint64_t more = counted_tokens(settings, model, part) -
				(uint64_t)settings->value[VT_SET_SEQ];
		uint64_t reach = model->stacks[part].reach;

		if (more < reach)
			settings->value[VT_SET_SEQ] = (int64_t)(reach - more);
	}
}

/* What is longer reads outside of the table: an error of the device. */
static int check_positions(const struct vt_plan_settings *settings,
			   const struct vt_architecture *model, struct vt_diag *diag)
{
	struct vt_plan_settings own = *settings;
	enum vt_part part;

	vt_validate_usual_length(&own, model);
	part = short_part(&own, model);
	if (part == VT_NR_PARTS)
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE,
		    "--seq %" PRId64 " --new-tokens %" PRId64 ": the model has learned positions "
		    "for %" PRIu64 " tokens",
		    own.value[VT_SET_SEQ], own.value[VT_SET_NEW_TOKENS], model->stacks[part].reach);
	return -1;
}

/* Which is planned as eager whatever is asked for. */
static int check_attention(const struct vt_plan_settings *settings,
			   const struct vt_architecture *model, struct vt_diag *diag)
{
	if (!settings->is_given[VT_SET_ATTENTION] ||
	    settings->value[VT_SET_ATTENTION] != VT_ATTENTION_SDPA ||
	    !model->stacks[VT_PART_TEXT].has_eager_only)
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE,
		    "--attention sdpa: transformers has only eager attention for %.40s",
		    model->family);
	return -1;
}

int vt_validate_has_like_layers(const struct vt_architecture *model)
{
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];

	return s->layers && !model->stacks[VT_PART_ENCODER].layers && !s->mixer_layers &&
	       s->attention_layers == s->layers && s->mlp_layers == s->layers &&
	       (!s->experts || !s->dense_layers) &&
	       (!s->window || !s->full_layers || s->full_layers == s->layers);
}

/* Which of them are recomputed is planned where it makes no difference. */
static int check_checkpointed(const struct vt_plan_settings *settings,
			      const struct vt_architecture *model, struct vt_diag *diag)
{
	uint64_t number = (uint64_t)settings->value[VT_SET_CHECKPOINTED];
	uint64_t layers = model->stacks[VT_PART_TEXT].layers;

	if (!number || (vt_validate_has_like_layers(model) && number <= layers))
		return 0;
	if (number > layers)
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--checkpointed-layers %" PRIu64 ": there are %" PRIu64 " layers",
			    number, layers);
	else
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--checkpointed-layers only applies to models whose layers are alike");
	return -1;
}

int vt_validate_model(const struct vt_plan_settings *settings,
		      const struct vt_architecture *model, struct vt_diag *diag)
{
	return check_ranks(settings, model, diag) || check_parts(settings, model, diag) ||
			       check_positions(settings, model, diag) ||
			       check_attention(settings, model, diag) ||
			       check_checkpointed(settings, model, diag) ?
		       -1 :
		       0;
}
