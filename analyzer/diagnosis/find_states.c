/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_states.h"

#include <string.h>

#include "analyzer/attribution/rules/globs.h"
#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"

/* bitsandbytes leaves smaller states as they are (min_8bit_size), and has one scale per 256. */
#define LEAST_8BIT_ELEMENTS 4096
#define BLOCKWISE           256
/* Below that, other things are worth more thought than another optimizer. */
#define STATES_SHARE 0.2

/* The buffers of torch.nn.modules.batchnorm, whose values differ from module to module. */
static int is_statistic(const char *leaf)
{
	static const char *const names[] = { "running_mean", "running_var", "num_batches_tracked" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(names); i++)
		if (strcmp(leaf, names[i]) == 0)
			return 1;
	return 0;
}

struct buffer {
	uint64_t size_bytes;
	const char *leaf;
	uint32_t shape;
	uint32_t dtype;
	uint32_t allocation;
};

static int compare_kind(const struct buffer *x, const struct buffer *y)
{
	int names = strcmp(x->leaf, y->leaf);

	if (names)
		return names;
	if (x->size_bytes != y->size_bytes)
		return x->size_bytes > y->size_bytes ? -1 : 1;
	return x->shape != y->shape ? (x->shape < y->shape ? -1 : 1)
				    : (x->dtype > y->dtype) - (x->dtype < y->dtype);
}

static int compare_buffers(const void *a, const void *b)
{
	const struct buffer *x = a, *y = b;
	int kind = compare_kind(x, y);

	return kind ? kind : (x->allocation > y->allocation) - (x->allocation < y->allocation);
}

static struct buffer *find_buffers(const struct vt_finding_context *context, size_t *nr)
{
	const uint32_t roles = 1u << VT_ROLE_BUFFER | 1u << VT_ROLE_ATTRIBUTE;
	struct buffer *buffers = vt_xcalloc((size_t)context->nr_live + 1, sizeof(*buffers));

	*nr = 0;
	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];
		const struct vt_tensor *tensor = vt_names_find(&context->facts->names, i, roles);
		const char *name = tensor ? vt_model_text(context->model, tensor->name) : NULL;
		const char *dot = name ? strrchr(name, '.') : NULL;

		if (!dot || is_statistic(dot + 1) ||
		    !vt_finding_context_is_owner(context, i, VT_OWNERS_BUFFERS))
			continue;
		/* The storage's size: of equal blocks one may have a tail. */
		buffers[(*nr)++] = (struct buffer){ tensor->size_bytes, dot + 1, tensor->shape,
						    tensor->dtype, i };
	}
	vt_sort(buffers, *nr, compare_buffers);
	return buffers;
}

static void find_equal_buffers(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	struct vt_buffer names = { 0 };
	uint32_t first = VT_NO_INDEX, blocks = 0;
	char one[VT_UNITS_MAX];
	size_t nr;
	struct buffer *buffers = find_buffers(context, &nr);

	for (size_t i = 1; i < nr; i++) {
		int is_second = i < 2 || compare_kind(&buffers[i - 1], &buffers[i - 2]);

		if (compare_kind(&buffers[i], &buffers[i - 1]))
			continue;
		if (first == VT_NO_INDEX ||
		    buffers[i].size_bytes > context->model->allocations[first].common->size_bytes)
			first = buffers[i].allocation;
		if (is_second)
			vt_buffer_printf(&names, "%s%s", names.len ? ", " : "", buffers[i].leaf);
		blocks += is_second ? 2 : 1;
		vt_savings_add(
			&savings, &context->model->allocations[buffers[i].allocation],
			context->model->allocations[buffers[i].allocation].common->size_bytes);
	}
	if (first == VT_NO_INDEX) {
		free(buffers);
		return;
	}
	vt_units_bytes(one, sizeof(one), context->model->allocations[first].common->size_bytes);
	vt_finding_context_add(context, VT_FINDING_EQUAL_BUFFERS, &savings, first,
			vt_xasprintf("%u of up to %s (%s)", blocks, one, names.data));
	vt_buffer_release(&names);
	free(buffers);
}

static uint64_t narrowed(uint64_t elements)
{
	return elements + (elements + BLOCKWISE - 1) / BLOCKWISE * 4;
}

/* The temporary tensors of all steps of the optimizer; returns those at the highest use. */
static uint64_t relieve_burst(struct vt_finding_context *context, struct vt_savings *savings,
			      uint32_t *first)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (!vt_finding_context_has(context, i, VT_OWNERS_OPTIMIZER_WORKSPACE))
			continue;
		if (vt_allocation_is_live(a, context->event)) {
			*first = *first == VT_NO_INDEX ? i : *first;
			bytes += a->common->size_bytes;
		}
		vt_savings_add(savings, a, a->common->size_bytes);
	}
	return bytes;
}

/* An 8-bit optimizer's step is one kernel per parameter, which needs no temporary tensors. */
static void find_wide_states(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint32_t first = VT_NO_INDEX, temporary = VT_NO_INDEX;
	uint64_t bytes = 0, burst;
	char all[VT_UNITS_MAX], more[VT_UNITS_MAX];

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_tensor *state = vt_names_find(&context->facts->names, i,
							      1u << VT_ROLE_OPTIMIZER);
		unsigned width = state ? vt_finding_context_width(context, state) : 0;
		uint64_t elements = width ? a->common->size_bytes / width : 0;

		if (a->common->device != context->device || elements < LEAST_8BIT_ELEMENTS)
			continue;
		if (vt_allocation_is_live(a, context->event))
			bytes += a->common->size_bytes;
		first = first == VT_NO_INDEX ? i : first;
		vt_savings_add(&savings, a, a->common->size_bytes - narrowed(elements));
	}
	if ((double)bytes < STATES_SHARE * (double)context->peak_bytes) {
		vt_vector_release(&savings);
		return;
	}
	burst = relieve_burst(context, &savings, &temporary);
	vt_units_bytes(all, sizeof(all), bytes);
	vt_units_bytes(more, sizeof(more), burst);
	vt_finding_context_add(context, VT_FINDING_OPTIMIZER_STATES_WIDE, &savings, first,
			       vt_xasprintf("%s at the peak%s%s%s", all, burst ? ", and " : "",
					    burst ? more : "",
					    burst ? " of temporary tensors of the step" : ""));
}

static void find_burst(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint32_t first = VT_NO_INDEX;
	char all[VT_UNITS_MAX];

	if (context->stage != VT_STAGE_OPTIMIZER)
		return;
	vt_units_bytes(all, sizeof(all), relieve_burst(context, &savings, &first));
	if (first == VT_NO_INDEX) {
		vt_vector_release(&savings);
		return;
	}
	vt_finding_context_add(context, VT_FINDING_OPTIMIZER_BURST, &savings, first,
			vt_xasprintf("%s of temporary tensors", all));
}

/* The spans of one stage in a step; returns 0 where there is none. */
static int find_stage(const struct vt_stages *stages, const struct vt_step *step,
		      enum vt_stage stage, int64_t *first_event, int64_t *last_event)
{
	int is_found = 0;

	for (uint32_t i = step->first_span; i <= step->last_span; i++) {
		if (stages->spans[i].stage != stage)
			continue;
		if (!is_found)
			*first_event = stages->spans[i].first_event;
		*last_event = stages->spans[i].last_event;
		is_found = 1;
	}
	return is_found;
}

/*
 * A gradient that a backward pass makes anew comes when its turn is there: in the step that made it
 * first it came at some part of that pass, and so it would in each later one.
 */
static void relieve_gradient(struct vt_finding_context *context, struct vt_savings *savings,
			     uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	const struct vt_stages *stages = context->facts->stages;
	uint32_t made = vt_facts_span(context->facts, a)->step;
	int64_t first, last;
	double part;

	if (!made || !find_stage(stages, &stages->steps.steps[made - 1], VT_STAGE_BACKWARD, &first,
				 &last))
		return;
	part = last > first ? (double)(a->event - first) / (double)(last - first) : 0;
	for (uint32_t s = made + 1; s <= stages->steps.nr; s++) {
		const struct vt_step *step = &stages->steps.steps[s - 1];
		int64_t begin = stages->spans[step->first_span].first_event;

		if (a->freed_event <= begin)
			return;
		if (!find_stage(stages, step, VT_STAGE_BACKWARD, &first, &last))
			continue;
		first += (int64_t)(part * (double)(last - first));
		vt_savings_add_between(savings, a, a->common->size_bytes, begin, first);
	}
}

/*
 * Where the first forward pass begins that a gradient lives through for nothing: in the step that
 * made it no backward pass added to it, and no optimizer read it, before it was cleared.  So it is
 * with what a search for hard examples leaves in the weights.  VT_NEVER: in none.
 */
static int64_t unused_from(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t s = vt_stages_span_at(stages, a->event);
	uint32_t step = s == VT_NO_INDEX ? 0 : stages->spans[s].step;
	int64_t forward = VT_NEVER;

	if (!step || stages->spans[s].stage != VT_STAGE_BACKWARD)
		return VT_NEVER;
	while (++s < stages->nr_spans && stages->spans[s].first_event < a->freed_event) {
		const struct vt_span *span = &stages->spans[s];

		if (span->step != step || span->stage == VT_STAGE_BACKWARD ||
		    span->stage == VT_STAGE_OPTIMIZER)
			return VT_NEVER;
		if (span->stage == VT_STAGE_FORWARD && forward == VT_NEVER)
			forward = span->first_event;
	}
	return a->freed_event == VT_NEVER ? VT_NEVER : forward;
}

static int is_gradient_block(const struct vt_finding_context *context, uint32_t i)
{
	return vt_finding_context_has(context, i, VT_OWNERS_GRADIENTS);
}

/* Whether it lives on into a step behind its own. */
static int is_of_step_before(const struct vt_finding_context *context,
			     const struct vt_allocation *a)
{
	const struct vt_stages *stages = context->facts->stages;
	const struct vt_span *span = vt_facts_span(context->facts, a);
	const struct vt_step *next =
		span && span->step ? vt_stages_step(stages, span->step + 1) : NULL;

	return next && a->freed_event > stages->spans[next->first_span].first_event;
}

/* At the peak, or where there are none the most that lives on into a later step; one of them. */
struct old_gradients {
	uint64_t bytes;
	uint32_t largest;
	int are_of_step; /* all of steps before */
};

static void find_old(const struct vt_finding_context *context, struct old_gradients *old)
{
	const struct vt_stages *stages = context->facts->stages;
	uint64_t *bytes = vt_xcalloc((size_t)stages->steps.nr + 1, sizeof(*bytes)), most = 0;
	uint32_t span_now = vt_stages_span_at(stages, context->event);
	uint32_t step_now = span_now == VT_NO_INDEX ? 0 : stages->spans[span_now].step;
	uint64_t now_bytes = 0;

	*old = (struct old_gradients){ .largest = VT_NO_INDEX, .are_of_step = 1 };
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_span *span;
		int64_t from = VT_NEVER;

		if (!is_gradient_block(context, i))
			continue;
		span = vt_facts_span(context->facts, a);
		if (!span)
			continue;
		if (!is_of_step_before(context, a)) {
			from = unused_from(context, a);
			if (from == VT_NEVER)
				continue;
		}
		if ((from == VT_NEVER ? span->step < step_now : from <= context->event) &&
		    vt_allocation_is_live(a, context->event)) {
			now_bytes += a->common->size_bytes;
			old->are_of_step &= from == VT_NEVER;
		}
		bytes[span->step] += a->common->size_bytes;
		most = bytes[span->step] > most ? bytes[span->step] : most;
		if (old->largest == VT_NO_INDEX ||
		    a->common->size_bytes >
			    context->model->allocations[old->largest].common->size_bytes)
			old->largest = i;
	}
	free(bytes);
	old->bytes = now_bytes ? now_bytes : most;
}

static void find_old_gradients(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	struct old_gradients old;
	char all[VT_UNITS_MAX];

	find_old(context, &old);
	if (old.largest == VT_NO_INDEX)
		return;
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		int64_t from;

		if (!is_gradient_block(context, i))
			continue;
		relieve_gradient(context, &savings, i);
		from = unused_from(context, a);
		if (from != VT_NEVER)
			vt_savings_add_between(&savings, a, a->common->size_bytes, from, VT_NEVER);
	}
	vt_units_bytes(all, sizeof(all), old.bytes);
	vt_finding_context_add(
		context, VT_FINDING_GRADIENTS_IN_FORWARD, &savings, old.largest,
		vt_xasprintf("%s of an earlier %s", all, old.are_of_step ? "step" : "pass"));
}

/* Made by the reducer of DistributedDataParallel; its frames are exported since PyTorch 1.x. */
static int is_bucket_stack(const struct vt_finding_context *context, uint32_t stack)
{
	static char *patterns[] = { "*!*c10d::Reducer::initialize_bucket*" };
	const struct vt_globs globs = { patterns, VT_ARRAY_SIZE(patterns) };
	const struct vt_frames *frames = &context->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids);

	for (unsigned k = 0; k < nr; k++)
		if (vt_globs_match_native(&globs, frames, ids[k]))
			return 1;
	return 0;
}

/* Gradients come from few places: each stack is read once. */
static int is_bucket(const struct vt_finding_context *context, struct vt_map *stacks, uint32_t i)
{
	uint32_t stack = context->model->allocations[i].common->made->native_stack;
	const uint64_t *known = vt_map_find(stacks, (struct vt_key){ stack, 0, 0 });
	int is;

	if (known)
		return (int)*known;
	is = is_bucket_stack(context, stack);
	vt_map_put(stacks, (struct vt_key){ stack, 0, 0 }, (uint64_t)is);
	return is;
}

/* A gradient is copied into its bucket as soon as it is there. */
static void find_gradients_twice(struct vt_finding_context *context)
{
	const uint32_t role = 1u << VT_ROLE_GRADIENT;
	struct vt_savings savings = { 0 };
	uint32_t first = VT_NO_INDEX;
	uint64_t bytes = 0, in_buckets = 0;
	struct vt_map stacks = { 0 };
	char all[VT_UNITS_MAX], twice[VT_UNITS_MAX];

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		int is_live, is_seen;

		if (!is_gradient_block(context, i))
			continue;
		is_live = vt_allocation_is_live(a, context->event);
		is_seen = (vt_names_roles(&context->facts->names, i) & role) != 0;
		if (is_bucket(context, &stacks, i)) {
			in_buckets += is_live && !is_seen ? a->common->size_bytes : 0;
			continue;
		}
		vt_savings_add_between(&savings, a, a->common->size_bytes, a->event + 1, VT_NEVER);
		if (!is_live || !is_seen)
			continue;
		first = first == VT_NO_INDEX ? i : first;
		bytes += a->common->size_bytes;
	}
	vt_map_release(&stacks);
	if (first == VT_NO_INDEX || !in_buckets) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), in_buckets);
	vt_units_bytes(twice, sizeof(twice), bytes);
	vt_finding_context_add(context, VT_FINDING_GRADIENTS_TWICE, &savings, first,
			       vt_xasprintf("%s in buckets, %s outside", all, twice));
}

void vt_find_states_detect(struct vt_finding_context *context)
{
	find_equal_buffers(context);
	if (!context->is_training)
		return;
	find_wide_states(context);
	find_burst(context);
	find_old_gradients(context);
	find_gradients_twice(context);
}
