/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/scaling.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"
#include "analyzer/diagnosis/inputs.h"

#define SCALING_TEXT(name, text, why) text,
static const char *const texts[] = { VT_SCALINGS(SCALING_TEXT) };
#undef SCALING_TEXT
#define SCALING_WHY(name, text, why) why,
static const char *const assumptions[] = { VT_SCALINGS(SCALING_WHY) };
#undef SCALING_WHY

/* Owners that follow the model alone. */
static const char *const fixed[] = { "weights", "weights/*", "gradients", "optimizer", "buffers",
				     "workspace/cublas", "workspace/cudnn", "workspace/optimizer",
				     "communication", "pool/*", "external", "imported" };

/* Generated tokens that a cache may have grown by between two calls that are told apart. */
#define MAX_GROWN 65536

/* What no batch is.  The bounds keep b*s*s, and b*(s+i) for all i < MAX_GROWN, from wrapping. */
#define MAX_SIDE (1ull << 30)
#define MAX_PRODUCT (1ull << 62)

struct judging {
	struct vt_scalings *scalings;
	struct vt_attribution *attribution;
	struct vt_map scores; /* bytes that some softmax of attention made, or of half or twice */
	struct vt_map results; /* bytes of activations */
	struct vt_map units;  /* bytes per token of the caches that a prompt filled */
	uint64_t nr_decodes;
};

const char *vt_scaling_text(enum vt_scaling scaling)
{
	return texts[scaling];
}

const char *vt_scaling_assumption(enum vt_scaling scaling)
{
	return assumptions[scaling];
}

/* --- how large the batch was ------------------------------------------------------------------ */

/* "4,1024,768": how many numbers, the first four of them. */
static unsigned read_shape(const char *shape, unsigned long long *sides)
{
	int nr = shape ? sscanf(shape, "%llu,%llu,%llu,%llu", &sides[0], &sides[1], &sides[2],
				&sides[3]) :
			 0;

	return nr > 0 ? (unsigned)nr : 0;
}

/* Rows and tokens of one input; pictures and vectors are rows alone. */
static struct vt_scaling_size size_of(const struct vt_model *model, const struct vt_tensor *tensor)
{
	const char *dtype = vt_model_text(model, tensor->dtype);
	unsigned long long sides[4];
	unsigned nr = read_shape(vt_model_text(model, tensor->shape), sides);
	int is_tokens = nr == 2 && dtype && !strncmp(dtype, "int", 3);

	if (is_tokens || nr == 3)
		return (struct vt_scaling_size){ sides[0], sides[1] };
	return (struct vt_scaling_size){ nr ? sides[0] : 0, 0 };
}

int vt_scaling_size_parse(struct vt_scaling_size *size, const char *text)
{
	unsigned long long batch = 0, seq = 0;
	char rest;
	int nr = sscanf(text, "%9llux%9llu%c", &batch, &seq, &rest);

	if (!batch || (nr == 2 ? !seq : nr != 1 || strchr(text, 'x')))
		return -1;
	*size = (struct vt_scaling_size){ batch, seq };
	return 0;
}

static int is_too_large(struct vt_scaling_size size)
{
	return size.batch >= MAX_SIDE || size.seq >= MAX_SIDE ||
	       (size.seq && size.batch > MAX_PRODUCT / (size.seq * size.seq));
}

/* The one with most tokens, and its size; NULL: none was seen. */
static const struct vt_tensor *find_input(const struct vt_model *model, struct vt_scaling_size *was)
{
	const struct vt_tensor *input = NULL;

	*was = (struct vt_scaling_size){ 0, 0 };

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		struct vt_scaling_size size;

		if (tensor->role != VT_ROLE_INPUT)
			continue;
		size = size_of(model, tensor);
		if (is_too_large(size) ||
		    size.batch * (size.seq + 1) <= was->batch * (was->seq + 1))
			continue;
		*was = size;
		input = tensor;
	}
	return input;
}

static int inputs_vary(const struct vt_facts *facts)
{
	struct vt_scaling_size was;
	const struct vt_tensor *input = find_input(facts->model, &was);
	const struct vt_peak *peak = input ? vt_model_peak(facts->model, input->device) : NULL;

	return peak && vt_inputs_have_changed(facts, input, peak->max_allocated_event);
}

struct vt_scaling_size vt_scaling_size_of(const struct vt_facts *facts)
{
	struct vt_scaling_size was;

	if (!find_input(facts->model, &was) || inputs_vary(facts))
		return (struct vt_scaling_size){ 0, 0 };
	return was;
}

char *vt_scaling_size_note(const struct vt_facts *facts, struct vt_scaling_size was)
{
	struct vt_scaling_size seen = vt_scaling_size_of(facts);

	if (!seen.batch || (seen.batch == was.batch && seen.seq == was.seq))
		return NULL;
	return vt_xasprintf("--was differs from the recorded inputs: %llu x %llu",
			    (unsigned long long)seen.batch, (unsigned long long)seen.seq);
}

/* --- what each block follows ------------------------------------------------------------------ */

static const char *owner_of(const struct judging *j, uint32_t allocation)
{
	return vt_attribution_owner(j->attribution,
				    vt_attribution_judge(j->attribution, allocation).owner);
}

static int is_fixed(const char *owner)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(fixed); i++)
		if (!fnmatch(fixed[i], owner, 0))
			return 1;
	return 0;
}

/* A softmax outside of the loss that gives b*s*s of something. */
static int is_softmax_of_scores(struct judging *j, uint32_t allocation, const char *owner)
{
	const struct vt_allocation *a = &j->attribution->facts->model->allocations[allocation];
	const struct vt_scaling_size *was = &j->scalings->was;
	const char *op =
		vt_operators_name(&j->attribution->facts->operators, a->common->made->native_stack);

	return op && strstr(op, "softmax") && strcmp(owner, "logits") && was->seq > 1 &&
	       vt_allocation_asked_bytes(a) % (was->batch * was->seq * was->seq) == 0;
}

static void put(struct vt_map *map, uint64_t bytes)
{
	vt_map_put(map, (struct vt_key){ bytes, 0, 0 }, 1);
}

static int has(const struct vt_map *map, uint64_t bytes)
{
	return vt_map_find(map, (struct vt_key){ bytes, 0, 0 }) != NULL;
}

static int is_activation(const char *owner)
{
	return !strncmp(owner, "activations/", strlen("activations/"));
}

static void gather(struct judging *j)
{
	const struct vt_model *model = j->attribution->facts->model;
	const struct vt_passes *passes = &j->attribution->facts->stages->passes;
	uint64_t tokens = j->scalings->was.batch * j->scalings->was.seq;

	for (uint32_t i = 0; i < passes->nr; i++)
		j->nr_decodes += passes->passes[i].kind == VT_PASS_DECODE;
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const char *owner;

		if (!vt_allocation_is_owned(a))
			continue;
		owner = owner_of(j, i);
		if (is_softmax_of_scores(j, i, owner)) {
			put(&j->scores, vt_allocation_asked_bytes(a));
			put(&j->scores, vt_allocation_asked_bytes(a) * 2);
			put(&j->scores, vt_allocation_asked_bytes(a) / 2);
		}
		if (is_activation(owner))
			put(&j->results, vt_allocation_asked_bytes(a));
		if (!strcmp(owner, "kv cache") && tokens &&
		    vt_allocation_asked_bytes(a) % tokens == 0)
			put(&j->units, vt_allocation_asked_bytes(a) / tokens);
	}
}

/* Caches that grew, or were made for so many tokens more. */
static int is_grown(struct judging *j, uint32_t allocation, uint64_t bytes)
{
	const struct vt_scaling_size *was = &j->scalings->was;

	for (uint64_t i = 1; i <= j->nr_decodes + 1 && i < MAX_GROWN; i++) {
		uint64_t tokens = was->batch * (was->seq + i);

		/* A cache that is static has no other sizes to compare with. */
		if (bytes % tokens || (j->units.len && !has(&j->units, bytes / tokens)))
			continue;
		if (!j->units.len && i < j->nr_decodes)
			continue;
		j->scalings->grown[allocation] = i;
		return 1;
	}
	return 0;
}

/*
 * Gradients, and what updates make of them; activations, and so their gradients, may be as large as
 * some parameter.
 */
static int is_of_parameter(struct judging *j, const struct vt_allocation *a, const char *owner)
{
	uint32_t classes = vt_facts_shape_classes(j->attribution->facts, a);

	if (!strcmp(owner, "activation gradients") &&
	    has(&j->results, vt_allocation_asked_bytes(a)))
		return 0;
	return classes == 1u << VT_SHAPE_PARAMETER && !is_activation(owner);
}

/* By what divides it; the first that fits. */
static enum vt_scaling judge_bytes(const struct judging *j, uint64_t bytes, const char *owner)
{
	const struct vt_scaling_size *was = &j->scalings->was;
	uint64_t tokens = was->batch * was->seq;
	uint64_t shifted = was->seq > 2 ? was->batch * (was->seq - 1) : 0;

	if (!was->seq)
		return bytes % was->batch ? VT_SCALING_NEITHER : VT_SCALING_BATCH;
	/* Where 4*h is heads*s, an mlp's tensors are as large as scores. */
	if (has(&j->scores, bytes) && strcmp(owner, "activations/mlp") &&
	    strcmp(owner, "activations/norm"))
		return VT_SCALING_SCORES;
	if (!strcmp(owner, "activations/mask") && bytes % (was->seq * was->seq) == 0)
		return bytes % (tokens * was->seq) ? VT_SCALING_SQUARE : VT_SCALING_SCORES;
	if (bytes % tokens == 0)
		return VT_SCALING_BOTH;
	if (shifted && bytes % shifted == 0)
		return VT_SCALING_SHIFTED;
	if (bytes % was->seq == 0)
		return VT_SCALING_SEQUENCE;
	return bytes % was->batch ? VT_SCALING_NEITHER : VT_SCALING_BATCH;
}

/* Of what lives with the calls. */
static enum vt_scaling judge_size(struct judging *j, uint32_t allocation, const char *owner)
{
	const struct vt_scaling_size *was = &j->scalings->was;
	const struct vt_model *model = j->attribution->facts->model;
	uint64_t bytes = vt_allocation_asked_bytes(&model->allocations[allocation]);

	if (was->seq && !strcmp(owner, "kv cache") && bytes % (was->batch * was->seq) &&
	    is_grown(j, allocation, bytes))
		return VT_SCALING_GROWN;
	return judge_bytes(j, bytes, owner);
}

static enum vt_scaling judge(struct judging *j, uint32_t allocation)
{
	const struct vt_allocation *a = &j->attribution->facts->model->allocations[allocation];
	const char *owner = owner_of(j, allocation);
	const struct vt_span *span = vt_facts_span(j->attribution->facts, a);

	/* What was loaded, and gradients on their way to their parameters. */
	if (is_fixed(owner) || !vt_allocation_is_owned(a) || is_of_parameter(j, a, owner) ||
	    (span && span->stage == VT_STAGE_LOAD && strcmp(owner, "inputs")) ||
	    (span && span->stage == VT_STAGE_OPTIMIZER))
		return VT_SCALING_NEITHER;
	return judge_size(j, allocation, owner);
}

/* Nobody owns what was not given. */
static enum vt_scaling judge_failed(struct judging *j, const struct vt_out_of_memory *oom)
{
	const struct vt_stages *stages = j->attribution->facts->stages;
	uint32_t span = vt_stages_span_at(stages, oom->event);
	uint8_t stage = span == VT_NO_INDEX ? VT_NO_STAGE : stages->spans[span].stage;
	uint64_t rounded = vt_block_rounding_rounded(oom->requested_bytes);

	if (vt_shapes_of_size(&j->attribution->facts->shapes, rounded) ==
		    1u << VT_SHAPE_PARAMETER ||
	    stage == VT_STAGE_LOAD || stage == VT_STAGE_OPTIMIZER)
		return VT_SCALING_NEITHER;
	return judge_bytes(j, oom->requested_bytes, VT_OWNER_UNKNOWN);
}

enum vt_scaling vt_scaling_of_failed(struct vt_attribution *attribution, struct vt_scaling_size was,
				     uint32_t oom)
{
	struct vt_scalings scalings = { .was = was };
	struct judging j = { .scalings = &scalings, .attribution = attribution };

	return judge_failed(&j, &attribution->facts->model->ooms[oom]);
}

int vt_scalings_init(struct vt_scalings *scalings, struct vt_attribution *attribution,
		     struct vt_scaling_size was, struct vt_diag *diag)
{
	const struct vt_model *model = attribution->facts->model;
	int is_varying = inputs_vary(attribution->facts);
	struct judging j = { .scalings = scalings, .attribution = attribution };

	memset(scalings, 0, sizeof(*scalings));
	scalings->was = was;
	if (!was.batch)
		scalings->was = vt_scaling_size_of(attribution->facts);
	if (!scalings->was.batch) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s: give %s with --was BATCHxSEQ",
			    vt_db_path(model->db),
			    is_varying ? "inputs vary, and those at the peak were not seen"
				       : "no inputs of a model were recorded",
			    is_varying ? "the inputs at the peak" : "its inputs");
		return -1;
	}
	if (is_too_large(scalings->was)) {
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--was %llux%llu: attention scores exceed any device",
			    (unsigned long long)was.batch, (unsigned long long)was.seq);
		return -1;
	}
	scalings->of = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	scalings->grown = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(uint64_t));
	gather(&j);
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (vt_allocation_is_owned(&model->allocations[i]))
			scalings->of[i] = (uint8_t)judge(&j, i);
	scalings->of_failed = vt_xcalloc((size_t)model->nr_ooms + 1, 1);
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		scalings->of_failed[i] = (uint8_t)judge_failed(&j, &model->ooms[i]);
	vt_map_release(&j.scores);
	vt_map_release(&j.results);
	vt_map_release(&j.units);
	return 0;
}

void vt_scalings_release(struct vt_scalings *scalings)
{
	free(scalings->of);
	free(scalings->grown);
	free(scalings->of_failed);
	memset(scalings, 0, sizeof(*scalings));
}

static double factor_of(const struct vt_scaling_size *was, enum vt_scaling scaling, double i,
			struct vt_scaling_size is)
{
	double b = (double)is.batch / (double)was->batch;
	double s = was->seq ? (double)is.seq / (double)was->seq : 1;

	switch (scaling) {
	case VT_SCALING_BATCH:
		return b;
	case VT_SCALING_SEQUENCE:
		return s;
	case VT_SCALING_BOTH:
		return b * s;
	case VT_SCALING_SHIFTED:
		return b * ((double)is.seq - 1) / ((double)was->seq - 1);
	case VT_SCALING_GROWN:
		return b * ((double)is.seq + i) / ((double)was->seq + i);
	case VT_SCALING_SQUARE:
		return s * s;
	case VT_SCALING_SCORES:
		return b * s * s;
	default:
		return 1;
	}
}

double vt_scalings_factor(const struct vt_scalings *scalings, uint32_t allocation,
			  struct vt_scaling_size is)
{
	return factor_of(&scalings->was, (enum vt_scaling)scalings->of[allocation],
			 (double)scalings->grown[allocation], is);
}

double vt_scalings_factor_of_failed(const struct vt_scalings *scalings, uint32_t oom,
				    struct vt_scaling_size is)
{
	return factor_of(&scalings->was, (enum vt_scaling)scalings->of_failed[oom], 0, is);
}
