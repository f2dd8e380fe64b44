/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/smaller.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/owner_answers.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/diagnosis/inputs.h"
#include "analyzer/diagnosis/oom_remedies.h"
#include "analyzer/diagnosis/scaling.h"

/* Lengths are tried in sixteenths of the recorded one: finer says more than is known. */
#define LENGTH_PARTS 16

/* Owners whose bytes grow with the batch, and all below them. */
static const char *const growing[] = {
	"activations", "activation gradients", "logits", "inputs", "kv cache",
};

struct vt_smaller_trial {
	struct vt_attribution *attribution;
	const struct vt_trace *trace;
	struct vt_trace cut;
	struct vt_scaling_size was;
	uint8_t *powers; /* by allocation: with which power of the length it grows; 0: not at all */
	uint8_t of_request; /* the same of what failed */
	struct vt_owner_answers are_growing; /* 1 not, 2 so */
};

static int is_growing(struct vt_smaller_trial *trial, uint32_t owner)
{
	uint8_t *answer = vt_owner_answers_of(&trial->are_growing, owner);

	if (!*answer)
		*answer = vt_owner_path_is_below_any(
				  vt_attribution_owner(trial->attribution, owner), growing,
				  VT_ARRAY_SIZE(growing)) ? 2 : 1;
	return *answer == 2;
}

static uint8_t power_of(const struct vt_smaller_trial *trial, uint64_t size_bytes)
{
	uint32_t classes = vt_shapes_of_size(&trial->attribution->facts->shapes, size_bytes);

	return classes == 1u << VT_SHAPE_SCORES ? 2 : 1;
}

static uint8_t power_of_block(struct vt_smaller_trial *trial, uint32_t allocation)
{
	struct vt_verdict verdict = vt_attribution_judge(trial->attribution, allocation);

	if (!is_growing(trial, verdict.owner))
		return 0;
	return power_of(trial, trial->trace->model->allocations[allocation].common->size_bytes);
}

static int follows_batch(const struct vt_smaller_trial *trial, uint32_t oom)
{
	switch (vt_scaling_of_failed(trial->attribution, trial->was, oom)) {
	case VT_SCALING_BATCH:
	case VT_SCALING_BOTH:
	case VT_SCALING_SHIFTED:
		return 1;
	default:
		return 0;
	}
}

/* By the table of shapes, by what such a request became before, else by what divides it. */
static uint8_t power_of_request(struct vt_smaller_trial *trial, const struct vt_trace_step *failed)
{
	const uint32_t batch_classes = 1u << VT_SHAPE_LOGITS | 1u << VT_SHAPE_HIDDEN |
				       1u << VT_SHAPE_INTERMEDIATE | 1u << VT_SHAPE_SCORES;
	uint64_t size = vt_settings_round(&trial->trace->settings,
					  vt_trace_bytes(trial->trace, failed));

	if (vt_shapes_of_size(&trial->attribution->facts->shapes, size) & batch_classes)
		return power_of(trial, size);
	for (size_t i = trial->cut.steps.len; i-- > 0;)
		if (trial->cut.steps.items[i].op == VT_TRACE_TAKE &&
		    vt_settings_round(&trial->trace->settings,
				      vt_trace_bytes(trial->trace, &trial->cut.steps.items[i])) ==
			    size) {
			uint8_t power = power_of_block(trial,
						       trial->cut.steps.items[i].allocation);

			if (power)
				return power;
		}
	return follows_batch(trial, failed->allocation) ? power_of(trial, size) : 0;
}

/* Judging every block costs as much as all replays: only where the request itself would shrink. */
static int find_powers(struct vt_smaller_trial *trial)
{
	const struct vt_trace_step *steps = trial->cut.steps.items;
	size_t nr = trial->cut.steps.len;

	trial->of_request = power_of_request(trial, &steps[nr - 1]);
	if (!trial->of_request)
		return -1;
	trial->powers = vt_xcalloc((size_t)trial->trace->model->nr_allocations + 1, 1);
	for (size_t i = 0; i < nr; i++)
		if (steps[i].op == VT_TRACE_TAKE)
			trial->powers[steps[i].allocation] =
				power_of_block(trial, steps[i].allocation);
	return 0;
}

static uint64_t scaled(uint64_t bytes, uint64_t part, uint64_t whole, unsigned power)
{
	for (unsigned i = 0; i < power; i++)
		bytes = (uint64_t)((double)bytes * (double)part / (double)whole);
	return bytes ? bytes : 1;
}

/* The part of the length or of the batch that is tried. */
struct part {
	uint64_t part;
	uint64_t whole;
	int is_length;
};

static uint64_t part_of(const struct part *part, uint64_t bytes, unsigned power)
{
	return scaled(bytes, part->part, part->whole, part->is_length || !power ? power : 1);
}

/* What each request would be. */
struct attempt {
	const struct vt_smaller_trial *trial;
	struct part part;
};

static uint64_t request_of(const void *context, const struct vt_trace_step *step)
{
	const struct attempt *attempt = context;
	const struct vt_trace *cut = &attempt->trial->cut;
	unsigned power = 0;

	if (step->op == VT_TRACE_TAKE)
		power = attempt->trial->powers[step->allocation];
	else if (step == &cut->steps.items[cut->steps.len - 1])
		power = attempt->trial->of_request;
	return part_of(&attempt->part, vt_trace_bytes(cut, step), power);
}

/* Whether what is live is no more than there is, wherever it lies. */
static int is_not_too_much(const struct attempt *attempt)
{
	const struct vt_trace *cut = &attempt->trial->cut;
	const struct vt_trace_step *last = &cut->steps.items[cut->steps.len - 1];
	uint64_t live = 0;

	for (const struct vt_trace_step *step = cut->steps.items; step < last; step++) {
		struct vt_trace_step take = *step;

		take.op = VT_TRACE_TAKE;
		if (step->op == VT_TRACE_TAKE || step->op == VT_TRACE_GIVE) {
			uint64_t bytes =
				vt_settings_round(&cut->settings, request_of(attempt, &take));

			live += step->op == VT_TRACE_TAKE ? bytes : 0 - bytes;
		}
		if (live > cut->capacity_bytes)
			return 0;
	}
	return live + vt_settings_round(&cut->settings, request_of(attempt, last)) <=
	       cut->capacity_bytes;
}

static int is_served(const struct attempt *attempt)
{
	const struct vt_trace *cut = &attempt->trial->cut;
	struct vt_replay_options options;
	struct vt_replay replay;

	vt_replay_options_init(&options, cut);
	options.request_of = request_of;
	options.request_context = attempt;
	vt_replay_run(&replay, cut, &options);
	return replay.rescued_event == vt_trace_event(cut, &cut->steps.items[cut->steps.len - 1]);
}

/* The largest part below `part` of which that is so, where it is of all below that; 0: of none. */
static uint64_t largest(struct attempt attempt, uint64_t part,
			int (*is_so)(const struct attempt *attempt))
{
	uint64_t low = 0, high = part;

	while (high - low > 1) {
		attempt.part.part = low + (high - low) / 2;
		if (is_so(&attempt))
			low = attempt.part.part;
		else
			high = attempt.part.part;
	}
	return low;
}

/*
 * The largest part of `whole` below it that is served; 0: none.  What is live bounds it, in a
 * fraction of a replay's time, and is mostly all that does.
 */
static uint64_t search(const struct vt_smaller_trial *trial, uint64_t whole, int is_length)
{
	struct attempt attempt = { trial, { .whole = whole, .is_length = is_length } };

	attempt.part.part = largest(attempt, whole, is_not_too_much);
	if (!attempt.part.part || is_served(&attempt))
		return attempt.part.part;
	return largest(attempt, attempt.part.part, is_served);
}

/* "8,1024" */
static unsigned read_shape(const char *shape, uint64_t *rows, uint64_t *columns)
{
	unsigned long long x = 0, y = 0;
	int nr = shape ? sscanf(shape, "%llu,%llu", &x, &y) : 0;

	*rows = x;
	*columns = y;
	return nr > 0 ? (unsigned)nr : 0;
}

/*
 * The inputs that the last look of the probe before the request saw; -1: they do not agree, or are
 * not those of the request.
 */
static int read_batch(struct vt_smaller *smaller, const struct vt_facts *facts, int64_t event)
{
	const struct vt_model *model = facts->model;
	const struct vt_tensor *last = NULL;

	for (uint32_t i = 0; i < model->nr_tensors; i++)
		if (model->tensors[i].role == VT_ROLE_INPUT && model->tensors[i].event <= event)
			last = &model->tensors[i];
	for (uint32_t i = 0; last && i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const char *dtype = vt_model_text(model, tensor->dtype);
		uint64_t rows, columns;

		if (tensor->role != VT_ROLE_INPUT || tensor->probe != last->probe ||
		    read_shape(vt_model_text(model, tensor->shape), &rows, &columns) < 2)
			continue;
		smaller->is_varying |= (uint8_t)vt_inputs_have_changed(facts, tensor, event);
		if (smaller->is_varying || (smaller->batch && smaller->batch != rows))
			return -1;
		smaller->batch = rows;
		if (dtype && !strncmp(dtype, "int", 3) && columns > smaller->length)
			smaller->length = columns;
	}
	return smaller->batch ? 0 : -1;
}

/* Whether a step that ended before the request had inputs of that batch. */
static int has_whole_step(const struct vt_smaller *smaller, const struct vt_facts *facts,
			  int64_t event)
{
	const struct vt_model *model = facts->model;
	/* The first step of all does not begin with the optimizer's states. */
	int64_t end = vt_stages_ended(facts->stages, vt_stages_ended(facts->stages, event));
	uint64_t rows, columns;

	for (uint32_t i = 0; i < model->nr_tensors; i++)
		if (model->tensors[i].role == VT_ROLE_INPUT && model->tensors[i].event <= end &&
		    read_shape(vt_model_text(model, model->tensors[i].shape), &rows, &columns) >=
			    2 &&
		    rows == smaller->batch && columns >= smaller->length)
			return 1;
	return 0;
}

void vt_smaller_begin(struct vt_smaller *smaller, struct vt_attribution *attribution,
		      const struct vt_trace *trace, uint32_t oom)
{
	int64_t event = trace->model->ooms[oom].event;
	struct vt_smaller_trial trial = { .attribution = attribution, .trace = trace };
	int rc;

	memset(smaller, 0, sizeof(*smaller));
	if (read_batch(smaller, attribution->facts, event) ||
	    vt_oom_remedies_cut(&trial.cut, trace, oom)) {
		*smaller = (struct vt_smaller){ .is_varying = smaller->is_varying };
		return;
	}
	trial.was = (struct vt_scaling_size){ smaller->batch, smaller->length };
	rc = find_powers(&trial);
	vt_vector_release(&trial.are_growing);
	if (rc) {
		memset(smaller, 0, sizeof(*smaller));
	} else {
		smaller->trial = vt_xmalloc(sizeof(trial));
		*smaller->trial = trial;
	}
	smaller->has_whole_step = (uint8_t)has_whole_step(smaller, attribution->facts, event);
}

void vt_smaller_play(struct vt_smaller *smaller)
{
	if (!smaller->trial)
		return;
	smaller->fits_batch = search(smaller->trial, smaller->batch, 0);
	if (!smaller->fits_batch && smaller->length >= LENGTH_PARTS)
		smaller->fits_length =
			search(smaller->trial, LENGTH_PARTS, 1) * smaller->length / LENGTH_PARTS;
	vt_smaller_release(smaller);
}

void vt_smaller_release(struct vt_smaller *smaller)
{
	if (smaller->trial)
		free(smaller->trial->powers);
	free(smaller->trial);
	smaller->trial = NULL;
}
