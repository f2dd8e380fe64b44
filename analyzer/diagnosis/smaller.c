/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/smaller.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/owner_answers.h"
#include "analyzer/base/map.h"
#include "analyzer/base/narrow.h"
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

/* Millions of blocks are of some hundred requests. */
struct request {
	uint64_t bytes;
	uint8_t power; /* of the length, with which it grows; 0: it does not */
};

#define NR_POWERS 3

struct vt_smaller_trial {
	struct vt_attribution *attribution;
	const struct vt_trace *trace;
	struct vt_trace cut;
	struct vt_scaling_size was;
	VT_VECTOR(struct request) requests;
	struct vt_narrow request_of;         /* by allocation: which of them */
	uint8_t of_failed;                   /* the power of what failed */
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

/* How requests are numbered: those of one common part and power are mostly one. */
struct numbering {
	struct vt_map numbers; /* of bytes and power */
	uint32_t *by_common;   /* and power: which request + 1 had it last */
};

static uint32_t number_request(struct vt_smaller_trial *trial, struct numbering *numbering,
			       uint32_t allocation)
{
	const struct vt_allocation *a = &trial->trace->model->allocations[allocation];
	struct request request = { vt_trace_request(trial->trace, allocation),
				   power_of_block(trial, allocation) };
	struct vt_key key = { request.bytes, request.power, 0 };
	uint32_t *last = &numbering->by_common[a->common->number * NR_POWERS + request.power];
	const uint64_t *known;

	if (*last && trial->requests.items[*last - 1].bytes == request.bytes)
		return *last - 1;
	known = vt_map_find(&numbering->numbers, key);
	if (known) {
		*last = (uint32_t)*known + 1;
	} else {
		vt_map_put(&numbering->numbers, key, trial->requests.len);
		vt_vector_push(&trial->requests, request);
		*last = (uint32_t)trial->requests.len;
	}
	return *last - 1;
}

/* Judging every block costs as much as all replays: only where the request itself would shrink. */
static int find_requests(struct vt_smaller_trial *trial)
{
	const struct vt_model *model = trial->trace->model;
	const struct vt_trace_step *steps = trial->cut.steps.items;
	struct numbering numbering = { 0 };
	size_t nr = trial->cut.steps.len;

	trial->of_failed = power_of_request(trial, &steps[nr - 1]);
	if (!trial->of_failed)
		return -1;
	vt_narrow_init(&trial->request_of, model->nr_allocations);
	numbering.by_common = vt_xcalloc(((size_t)model->nr_commons + 1) * NR_POWERS,
					 sizeof(*numbering.by_common));
	for (size_t i = 0; i < nr; i++)
		if (steps[i].op == VT_TRACE_TAKE)
			vt_narrow_set(&trial->request_of, steps[i].allocation,
				      number_request(trial, &numbering, steps[i].allocation));
	vt_map_release(&numbering.numbers);
	free(numbering.by_common);
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
	uint64_t *bytes; /* by request */
	uint64_t *rounded_bytes;
};

static void begin_attempt(struct attempt *attempt, uint64_t part)
{
	const struct vt_smaller_trial *trial = attempt->trial;

	attempt->part.part = part;
	for (size_t i = 0; i < trial->requests.len; i++) {
		const struct request *request = &trial->requests.items[i];

		attempt->bytes[i] = part_of(&attempt->part, request->bytes, request->power);
		attempt->rounded_bytes[i] =
			vt_settings_round(&trial->cut.settings, attempt->bytes[i]);
	}
}

static uint64_t request_of(const void *context, const struct vt_trace_step *step)
{
	const struct attempt *attempt = context;
	const struct vt_smaller_trial *trial = attempt->trial;
	const struct vt_trace *cut = &trial->cut;
	unsigned power = 0;

	if (step->op == VT_TRACE_TAKE)
		return attempt->bytes[vt_narrow_get(&trial->request_of, step->allocation)];
	if (step == &cut->steps.items[cut->steps.len - 1])
		power = trial->of_failed;
	return part_of(&attempt->part, vt_trace_bytes(cut, step), power);
}

/* Whether what is live is no more than there is, wherever it lies. */
static int is_not_too_much(const struct attempt *attempt)
{
	const struct vt_smaller_trial *trial = attempt->trial;
	const struct vt_trace *cut = &trial->cut;
	const struct vt_trace_step *last = &cut->steps.items[cut->steps.len - 1];
	uint64_t live = 0;

	for (const struct vt_trace_step *step = cut->steps.items; step < last; step++) {
		uint32_t request;

		if (step->op != VT_TRACE_TAKE && step->op != VT_TRACE_GIVE)
			continue;
		request = vt_narrow_get(&trial->request_of, step->allocation);
		live += step->op == VT_TRACE_TAKE ? attempt->rounded_bytes[request]
						  : 0 - attempt->rounded_bytes[request];
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
		uint64_t middle = low + (high - low) / 2;

		begin_attempt(&attempt, middle);
		if (is_so(&attempt))
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * The largest part of `whole` below it that is served; 0: none.  What is live bounds it, in a
 * fraction of a replay's time, and is mostly all that does.
 */
static uint64_t search(const struct vt_smaller_trial *trial, uint64_t whole, int is_length)
{
	struct attempt attempt = { .trial = trial,
				   .part = { .whole = whole, .is_length = is_length } };
	uint64_t found;

	attempt.bytes = vt_xcalloc(trial->requests.len + 1, sizeof(*attempt.bytes));
	attempt.rounded_bytes = vt_xcalloc(trial->requests.len + 1, sizeof(*attempt.bytes));
	found = largest(attempt, whole, is_not_too_much);
	begin_attempt(&attempt, found);
	if (found && !is_served(&attempt))
		found = largest(attempt, found, is_served);
	free(attempt.bytes);
	free(attempt.rounded_bytes);
	return found;
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
	rc = find_requests(&trial);
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
	if (smaller->trial) {
		vt_narrow_release(&smaller->trial->request_of);
		vt_vector_release(&smaller->trial->requests);
	}
	free(smaller->trial);
	smaller->trial = NULL;
}
