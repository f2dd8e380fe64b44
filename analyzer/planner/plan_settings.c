/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/plan_settings.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/units.h"

enum kind { KIND_NUMBER, KIND_WORD, KIND_BYTES };

#define ROW(id, name, kind, standard, limits, argument, changes, help)                             \
	{ { name, argument, help, changes }, KIND_##kind, standard, limits },
static const struct {
	struct vt_setting_row shown;
	enum kind kind;
	int64_t standard;
	const char *limits;
} rows[VT_NR_SETTINGS] = { VT_SETTINGS(ROW) };
#undef ROW

void vt_plan_settings_init(struct vt_plan_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	for (int i = 0; i < VT_NR_SETTINGS; i++)
		settings->value[i] = rows[i].standard;
}

const struct vt_setting_row *vt_plan_settings_row(enum vt_setting id)
{
	return &rows[id].shown;
}

int vt_plan_settings_find(const char *name, size_t len)
{
	for (int i = 0; i < VT_NR_SETTINGS; i++)
		if (strlen(rows[i].shown.name) == len && !memcmp(rows[i].shown.name, name, len))
			return i;
	return -1;
}

/* The place of a word in a list, -1 where it is not in it. */
static int find_word(const char *words, const char *text)
{
	size_t len = strlen(text);

	for (int place = 0; *words; place++) {
		size_t word = strcspn(words, " ");

		if (word == len && !memcmp(words, text, len))
			return place;
		words += word;
		words += strspn(words, " ");
	}
	return -1;
}

static int set_number(struct vt_plan_settings *settings, enum vt_setting id, const char *text,
		      struct vt_diag *diag)
{
	long long min = 0, max = 0;
	int64_t value;

	sscanf(rows[id].limits, "%lld %lld", &min, &max);
	if (!vt_numbers_parse(text, max, &value) && value >= min) {
		settings->value[id] = value;
		return 0;
	}
	vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.60s: a whole number from %lld to %lld",
		    rows[id].shown.name, text, min, max);
	return -1;
}

int vt_plan_settings_set(struct vt_plan_settings *settings, enum vt_setting id, const char *text,
		    struct vt_diag *diag)
{
	uint64_t bytes;

	settings->is_given[id] = 1;
	if (rows[id].kind == KIND_NUMBER)
		return set_number(settings, id, text, diag);
	if (rows[id].kind == KIND_WORD) {
		int place = find_word(rows[id].limits, text);

		if (place >= 0) {
			settings->value[id] = place;
			return 0;
		}
		vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.60s: one of %s", rows[id].shown.name, text,
			    rows[id].limits);
		return -1;
	}
	if (!vt_units_parse_bytes(text, &bytes) && bytes < 1ull << 53) {
		settings->value[id] = (int64_t)bytes;
		return 0;
	}
	vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.60s: a size such as 400MiB", rows[id].shown.name,
		    text);
	return -1;
}

int vt_plan_settings_word(enum vt_setting id, size_t place, char *buf, size_t size)
{
	const char *word = rows[id].limits;

	if (rows[id].kind != KIND_WORD)
		return 0;
	for (; place && *word; place--) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	snprintf(buf, size, "%.*s", (int)strcspn(word, " "), word);
	return *word != '\0';
}

const char *vt_plan_settings_text(const struct vt_plan_settings *settings, enum vt_setting id,
				  char *buf, size_t size)
{
	if (!vt_plan_settings_word(id, (size_t)settings->value[id], buf, size))
		snprintf(buf, size, "%lld", (long long)settings->value[id]);
	return buf;
}

static int is_standard(const struct vt_plan_settings *settings, enum vt_setting id)
{
	return settings->value[id] == rows[id].standard;
}

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
		{ VT_SET_KEEP_ON, VT_MODE_INFER },
	};

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
		if (!settings->is_given[only[i].id] || is_standard(settings, only[i].id) ||
		    settings->value[VT_SET_MODE] == only[i].mode)
			continue;
		vt_diag_set(diag, VT_EXIT_USAGE, "--%s %s", rows[only[i].id].shown.name,
			    only[i].mode == VT_MODE_TRAIN ?
				    "saves or costs nothing without a backward: it needs --train" :
				    "has no meaning in training: it needs --infer");
		return -1;
	}
	return 0;
}

static const char *wrong_with_shared_tokens(const int64_t *value)
{
	if (value[VT_SET_ATTENTION] == VT_ATTENTION_EAGER)
		return "--context-parallel joins what kernels give: --attention eager has none";
	if (value[VT_SET_CHUNK])
		return "--context-parallel and --chunk: tokens are shared, or taken in turn";
	if (value[VT_SET_SEQ] % value[VT_SET_CONTEXT_PARALLEL])
		return "--context-parallel: --seq does not divide by it";
	return NULL;
}

/* A setting that says how another one is done, which is not. */
static const char *wrong_without_other(const struct vt_plan_settings *settings)
{
	const int64_t *value = settings->value;
	int64_t loss = value[VT_SET_LOSS], kv = value[VT_SET_KV_DTYPE];

	if (!is_standard(settings, VT_SET_LOSS_CHUNK) && loss != VT_LOSS_CHUNKED &&
	    loss != VT_LOSS_CHECKPOINTED && loss != VT_LOSS_FUSED)
		return "--loss-chunk: --loss chunked, checkpointed and fused have chunks";
	if ((value[VT_SET_LORA_TARGETS] || value[VT_SET_LORA_DROPOUT]) && !value[VT_SET_LORA])
		return "--lora-targets and --lora-dropout are of adapters: give --lora";
	if (value[VT_SET_OPTIMIZER_LOOP] && value[VT_SET_OPTIMIZER] != VT_OPTIMIZER_ADAMW)
		return "--optimizer-loop is of --optimizer adamw";
	if (value[VT_SET_BUCKET_VIEW] && value[VT_SET_DATA] == 1)
		return "--bucket-view is of --data-parallel ranks: give more than 1";
	if (value[VT_SET_BUCKET_VIEW] && value[VT_SET_ZERO])
		return "--bucket-view is of DDP: --zero has no such buckets";
	if (!is_standard(settings, VT_SET_KV_GROUP) && kv != VT_DTYPE_INT8 && kv != VT_DTYPE_INT4)
		return "--kv-group: scales are of --kv-dtype int8 and int4";
	if (value[VT_SET_KEEP_ON] && !value[VT_SET_KEEP])
		return "--keep-on: nothing is kept: give --keep";
	return NULL;
}

/* What no runtime does, or what is not planned together. */
static const char *wrong_together(const int64_t *value)
{
	int is_train = value[VT_SET_MODE] == VT_MODE_TRAIN;

	if (value[VT_SET_ATTENTION] == VT_ATTENTION_FLASH && value[VT_SET_DTYPE] == VT_DTYPE_FP32 &&
	    !value[VT_SET_AUTOCAST])
		return "--attention flash: its kernels take bf16 and fp16, not --dtype fp32";
	if (value[VT_SET_QUANTISE] && value[VT_SET_OFFLOAD] == VT_OFFLOAD_WEIGHTS)
		return "--quantise and --offload weights are not planned together";
	if (value[VT_SET_OFFLOAD] == VT_OFFLOAD_OPTIMIZER && !is_train)
		return "--offload optimizer: a run without a backward has none: it needs --train";
	if ((value[VT_SET_ZERO] == 1 || value[VT_SET_ZERO] == 2) && !is_train)
		return "--zero 1 and 2 share gradients and states: they need --train";
	return NULL;
}

int vt_plan_settings_check(const struct vt_plan_settings *settings, struct vt_diag *diag)
{
	const int64_t *value = settings->value;
	const char *wrong = NULL;

	if (check_mode(settings, diag))
		return -1;
	if (value[VT_SET_QUANTISE] && value[VT_SET_MODE] == VT_MODE_TRAIN && !value[VT_SET_LORA])
		wrong = "--quantise with --train needs --lora: packed weights do not train";
	else if (value[VT_SET_LORA] && value[VT_SET_FREEZE])
		wrong = "--lora and --freeze: adapters train, nothing else does";
	else if (value[VT_SET_ZERO] && value[VT_SET_DATA] == 1)
		wrong = "--zero shares among --data-parallel ranks: give more than 1";
	else if (value[VT_SET_SEQUENCE] && value[VT_SET_TENSOR] == 1)
		wrong = "--sequence-parallel shares among --tensor-parallel ranks: give more";
	else if (value[VT_SET_CONTEXT_PARALLEL] > 1)
		wrong = wrong_with_shared_tokens(value);
	if (!wrong && value[VT_SET_KV_CACHE] == VT_KV_NONE && value[VT_SET_NEW_TOKENS])
		wrong = "--kv-cache none: --new-tokens are generated with a cache";
	if (!wrong)
		wrong = wrong_without_other(settings);
	if (!wrong)
		wrong = wrong_together(value);
	if (!wrong)
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "%s", wrong);
	return -1;
}
