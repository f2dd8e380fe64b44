/* SPDX-License-Identifier: MIT */
/* How long an allocation lived, in the program's own terms. */
#include "analyzer/attribution/inference/facts.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "common/journal_format.h"

const struct vt_span *vt_facts_span(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint32_t span = vt_stages_span_at(facts->stages, a->event);

	return span == VT_NO_INDEX ? NULL : &facts->stages->spans[span];
}

static int64_t end_of_step(const struct vt_stages *stages, uint32_t step)
{
	const struct vt_step *s = vt_stages_step(stages, step);

	return s && s->is_complete ? stages->spans[s->last_span].last_event : VT_NEVER;
}

/* Where the first step ends that begins after `event`; VT_NEVER: there is none, or no end of it. */
static int64_t end_of_later_step(const struct vt_stages *stages, int64_t event)
{
	uint32_t before = (uint32_t)vt_search_first(
		i, stages->steps.nr,
		stages->spans[stages->steps.steps[i].first_span].first_event <= event);

	return end_of_step(stages, before + 1);
}

/*
 * The end of the backward pass that `span` is or that follows it in the same step; VT_NEVER: none.
 */
static int64_t end_of_backward(const struct vt_stages *stages, const struct vt_span *span)
{
	const struct vt_span *end = stages->spans + stages->nr_spans;

	for (const struct vt_span *s = span; s < end && s->step == span->step; s++)
		if (s->stage == VT_STAGE_BACKWARD)
			return s->last_event;
	return VT_NEVER;
}

/* Both stacks show the same operator: what lies between them is its own. */
static int is_one_operator(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const char *made = vt_operators_name(&facts->operators, a->common->made->native_stack);
	const char *freed = vt_operators_name(&facts->operators, a->common->freed->native_stack);

	return made && freed && strcmp(made, freed) == 0;
}

/* Made and freed at the same place: same Python line, same node, one operator. */
static int died_in_operation(const struct vt_facts *facts, const struct vt_allocation *a,
			     int64_t freed)
{
	if (freed == VT_NEVER || a->common->made->thread != a->common->freed->thread ||
	    a->common->made->node_class != a->common->freed->node_class)
		return 0;
	if (a->common->made->node_class)
		return a->node_sequence == a->freed_node_sequence;
	return a->common->made->native_stack && a->common->freed->native_stack &&
	       a->common->made->python_stack == a->common->freed->python_stack &&
	       (a->freed_event == a->event + 1 || is_one_operator(facts, a));
}

static int64_t end_of_call(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_call *call = vt_calls_find(
		&facts->stages->calls, (uint32_t)(a - facts->model->allocations));

	return call ? call->end_event : VT_NEVER;
}

/*
 * Where an optimizer's step ends that evaluates the model, and so has stages inside; VT_NEVER: not
 * known.
 */
static int64_t end_of_scope(const struct vt_model *model, const struct vt_allocation *a)
{
	uint32_t low = vt_search_first(i, model->nr_marks, model->marks[i].event <= a->event);

	for (; a->common->made->scope && low < model->nr_marks; low++) {
		const struct vt_mark *mark = &model->marks[low];

		if (mark->kind == VT_MARK_END && mark->name == a->common->made->scope &&
		    mark->thread == a->common->made->thread)
			return mark->event;
	}
	return VT_NEVER;
}

static int64_t end_of_stage(const struct vt_facts *facts, const struct vt_span *span,
			    const struct vt_allocation *a)
{
	int64_t end = VT_NEVER;

	if (span->stage == VT_STAGE_OPTIMIZER)
		end = end_of_scope(facts->model, a);
	return end != VT_NEVER && end > span->last_event ? end : span->last_event;
}

uint32_t vt_facts_lifetimes(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_span *span = vt_facts_span(facts, a);
	int64_t freed = a->freed_event;
	uint32_t bits = 0;

	if (!span)
		return 0;
	if (freed > facts->last_working_event && !a->common->freed->python_stack &&
	    !a->common->freed->node_class)
		freed = VT_NEVER;
#define ADD(name, holds) bits |= (holds) ? 1u << VT_LIFETIME_##name : 0
	ADD(OPERATION, died_in_operation(facts, a, freed));
	ADD(STAGE, freed <= end_of_stage(facts, span, a));
	ADD(AFTER_CALL, freed > end_of_call(facts, a));
	ADD(AFTER_STAGE, freed > end_of_stage(facts, span, a));
	ADD(AFTER_BACKWARD, freed > end_of_backward(facts->stages, span));
	ADD(FOREVER, freed == VT_NEVER);
	ADD(TO_THE_END, freed > facts->last_made_event && !a->common->freed->node_class);
	ADD(OVER_STEPS, !span->step && freed > end_of_later_step(facts->stages, a->event));
	if (span->step) {
		int64_t end = end_of_step(facts->stages, span->step);
		int64_t next = end_of_step(facts->stages, span->step + 1);

		ADD(AFTER_STEP, freed > end); /* never, where the end is VT_NEVER */
		ADD(AFTER_NEXT_STEP, freed > next);
	}
#undef ADD
	return bits;
}
