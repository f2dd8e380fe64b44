/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_results.h"

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/micro_batch_results.h"

/* The passes of a generation; NULL: it has none, or there is no such generation. */
struct generation {
	const struct vt_pass *first, *last;
};

/* Two more than there are, so that the next two of each can be asked for. */
static struct generation *collect_generations(const struct vt_passes *passes)
{
	struct generation *all = vt_xcalloc((size_t)passes->nr_generations + 3, sizeof(*all));

	for (uint32_t p = 0; p < passes->nr; p++) {
		struct generation *one = &all[passes->passes[p].generation];

		one->first = one->first ? one->first : &passes->passes[p];
		one->last = &passes->passes[p];
	}
	return all;
}

/*
 * The generation that made a block, in a pass or between two; behind the last one only what the
 * function makes that generates, such as the order of beams.  0: none.
 */
static uint32_t generation_of(const struct vt_stages *stages, const struct generation *all,
			      const struct vt_allocation *a)
{
	const struct vt_passes *passes = &stages->passes;
	uint32_t behind =
		(uint32_t)vt_search_first(p, passes->nr, passes->passes[p].first_event <= a->event);
	uint32_t generation = behind ? passes->passes[behind - 1].generation : 0;

	if (generation && a->event >= all[generation].last->end_event &&
	    !vt_stage_evidence_landmarks(&stages->evidence, a->common->made->python_stack)
		     ->is_generating)
		return 0;
	return generation;
}

/*
 * Where the next generation begins, if what one made (a cache, scores) outlives that and is given
 * up for its result: a conversation's cache is replaced during the next one, and the common
 * beginning of many prompts lives on through all of them.  Else VT_NEVER.
 */
static int64_t end_of_generation(const struct vt_finding_context *context,
				 const struct generation *all, const struct vt_allocation *a)
{
	uint32_t generation = generation_of(context->facts->stages, all, a);
	const struct generation *next = &all[generation + 1], *then = &all[generation + 2];

	if (!generation || !next->first || a->freed_event <= next->last->first_event ||
	    (then->first && a->freed_event > then->first->first_event))
		return VT_NEVER;
	return next->first->first_event;
}

/* Where the next pass begins: what follows a call until then is done with what the call made. */
static int64_t next_pass(const struct vt_passes *passes, int64_t end_event)
{
	uint32_t next =
		(uint32_t)vt_search_first(p, passes->nr, passes->passes[p].first_event < end_event);

	return next < passes->nr ? passes->passes[next].first_event : VT_NEVER;
}

/*
 * The first event behind the step that made it; outside of steps the first of the pass behind the
 * one that did.
 */
static int64_t end_of_pass(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const struct vt_stages *stages = context->facts->stages;
	const struct vt_span *span = vt_facts_span(context->facts, a);
	const struct vt_step *step = span ? vt_stages_step(stages, span->step) : NULL;

	if (step)
		return stages->spans[step->last_span].last_event + 1;
	for (uint32_t i = 0; i < stages->passes.nr; i++)
		if (stages->passes.passes[i].first_event <= a->event &&
		    a->event < stages->passes.passes[i].end_event)
			return next_pass(&stages->passes, stages->passes.passes[i].end_event);
	return VT_NEVER;
}

static int is_result(const struct vt_finding_context *context, uint32_t i)
{
	return vt_finding_context_has(
		context, i, VT_OWNERS_LOGITS | VT_OWNERS_ACTIVATIONS | VT_OWNERS_KV_CACHE);
}

/*
 * Outside of steps the next call may need what the last one made (an encoder's output).  Not what
 * the next one makes again, and not what is kept for a backward pass that never comes.
 */
static int is_outlived(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const struct vt_span *span = vt_facts_span(context->facts, a);

	return (span && span->step) ||
	       vt_facts_repeats(context->facts, a) & 1u << VT_REPEAT_AGAIN ||
	       (!context->is_training &&
		vt_facts_grad_modes(context->facts, a) & 1u << VT_GRAD_MODE_ON);
}

/* From when on nobody needs it; VT_NEVER: that is not known. */
static int64_t end_of_result(const struct vt_finding_context *context,
			     const struct generation *generations, uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	int64_t end = VT_NEVER;

	if ((context->is_training ||
	     !vt_finding_context_is_owner(context, i, VT_OWNERS_KV_CACHE)) &&
	    is_outlived(context, a))
		end = end_of_pass(context, a);
	if (end == VT_NEVER && !context->is_training)
		end = end_of_generation(context, generations, a);
	return end;
}

/* How many steps had ended before an event. */
static size_t steps_before(const struct vt_finding_context *context, int64_t event)
{
	const struct vt_stages *stages = context->facts->stages;
	const struct vt_step *steps = stages->steps.steps;

	return vt_search_first(s, stages->steps.nr,
			       stages->spans[steps[s].last_span].last_event < event);
}

/*
 * The places of queues: of what they make several live at a time, and each is given back by a much
 * later step.  That is a memory that these steps read, such as the negatives of contrastive
 * learning; a variable that is only kept too long holds one result, until it is replaced.
 */
static void collect_queues(const struct vt_finding_context *context, struct vt_map *queues)
{
	struct vt_map next = { 0 }, second = { 0 };

	for (uint32_t i = context->model->nr_allocations; i-- > 0;) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_key place = vt_finding_context_place_key(a);
		const uint64_t *younger, *youngest;

		if (a->common->device != context->device || !vt_allocation_is_owned(a) ||
		    a->common->made->node_class)
			continue;
		youngest = vt_map_find(&second, place);
		if (youngest && (int64_t)*youngest < a->freed_event &&
		    a->freed_event <= context->facts->last_working_event &&
		    steps_before(context, a->freed_event) > steps_before(context, a->event) + 2)
			vt_map_put(queues, place, 1);
		younger = vt_map_find(&next, place);
		if (younger)
			vt_map_put(&second, place, *younger);
		vt_map_put(&next, place, (uint64_t)a->event);
	}
	vt_map_release(&next);
	vt_map_release(&second);
}

void vt_find_results_detect(struct vt_finding_context *context)
{
	const struct vt_model *model = context->model;
	struct generation *generations;
	struct vt_map queues = { 0 };
	struct vt_savings savings = { 0 };
	uint32_t largest = VT_NO_INDEX, blocks = 0;
	int64_t *ends;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	/* A snapshot with Python frames only: a library's workspace would look like a result. */
	if (model->frames.native_tree.nr_stacks <= 1)
		return;
	collect_queues(context, &queues);
	ends = vt_micro_batch_results_find(context->facts->stages);
	generations = collect_generations(&context->facts->stages->passes);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		int64_t end;

		if (context->unused_graph[i] || !is_result(context, i) ||
		    vt_map_find(&queues, vt_finding_context_place_key(a)))
			continue;
		end = ends && ends[i] ? ends[i] : end_of_result(context, generations, i);
		if (end == VT_NEVER || a->freed_event <= end)
			continue;
		vt_savings_add_between(&savings, a, a->common->size_bytes, end, VT_NEVER);
		if (end > context->event || !vt_allocation_is_live(a, context->event))
			continue;
		bytes += a->common->size_bytes;
		blocks++;
		if (largest == VT_NO_INDEX ||
		    a->common->size_bytes > model->allocations[largest].common->size_bytes)
			largest = i;
	}
	vt_map_release(&queues);
	free(ends);
	free(generations);
	if (largest == VT_NO_INDEX) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(
		context, VT_FINDING_RESULTS_KEPT, &savings, largest,
		vt_xasprintf("%s in %u block%s", all, blocks, blocks == 1 ? "" : "s"));
}
