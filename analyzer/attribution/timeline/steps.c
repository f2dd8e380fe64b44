/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/steps.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

/* One call of an optimizer's step. */
struct optimizer_call {
	int64_t first_event;
	int64_t last_event;
	uint64_t optimizer; /* identity of the instance; 0: unknown */
	uint32_t place;	    /* Python stack that opened its range; 0: unknown */
	uint32_t caller;    /* frame node that called it, where no instance is known; 0: none */
	uint32_t thread;
	uint32_t depth; /* of ranges that are open, itself included; 0: it ended, or has no range */
};

/* Optimizer calls with no forward or backward between them: the end of a step, or of its part. */
struct run {
	uint32_t first_call;
	uint32_t end_call;
	uint32_t last_span;
};

struct build {
	const struct vt_timeline *timeline;
	const struct vt_shown_moments *shown;
	const struct vt_stage_evidence *evidence;
	const struct vt_span *spans;
	uint32_t nr_spans;
	const struct vt_recorded_passes *recorded;
	VT_VECTOR(struct optimizer_call) calls;
	VT_VECTOR(struct run) runs;
	VT_VECTOR(struct vt_step) steps;
	VT_VECTOR(struct vt_micro_batch) micro_batches;
};

static uint32_t span_at(const struct build *build, int64_t event)
{
	return vt_spans_find(build->spans, build->nr_spans, event);
}

static struct optimizer_call *last_call(struct build *build)
{
	return build->calls.len ? &build->calls.items[build->calls.len - 1] : NULL;
}

static void see_range(struct build *build, const struct vt_mark *mark)
{
	const struct vt_stage_evidence *evidence = build->evidence;
	struct optimizer_call *call = last_call(build);
	int is_inside = call && call->depth && call->thread == mark->thread;
	struct optimizer_call fresh = { .first_event = mark->event,
					.last_event = evidence->model->last_event,
					.place = mark->python_stack,
					.thread = mark->thread,
					.depth = 1 };

	if (mark->name >= evidence->model->strings.nr ||
	    evidence->by_scope[mark->name] != VT_STAGE_OPTIMIZER)
		return;
	if (mark->kind == VT_MARK_BEGIN && is_inside)
		call->depth++; /* an optimizer around another */
	else if (mark->kind == VT_MARK_BEGIN)
		vt_vector_push(&build->calls, fresh);
	else if (mark->kind == VT_MARK_END && is_inside && !--call->depth)
		call->last_event = mark->event;
}

/* An event below an optimizer's step: of the open range, else of the call that this span is. */
static void see_optimizer(struct build *build, uint32_t stack, uint32_t thread, int64_t event)
{
	const struct vt_stage_landmarks *landmarks =
		vt_stage_evidence_landmarks(build->evidence, stack);
	uint64_t optimizer = landmarks->optimizer;
	struct optimizer_call *call = last_call(build);
	struct optimizer_call fresh = { .first_event = event,
					.last_event = event,
					.optimizer = optimizer,
					.caller = landmarks->caller,
					.thread = thread };

	if (call && call->last_event >= event) {
		if (call->thread == thread && optimizer)
			call->optimizer = optimizer;
		return;
	}
	if (call && call->optimizer == optimizer &&
	    span_at(build, call->last_event) == span_at(build, event))
		call->last_event = event;
	else
		vt_vector_push(&build->calls, fresh);
}

static void see_allocation(struct build *build, const struct vt_moment *moment,
			   struct vt_shown shown)
{
	const struct vt_model *model = build->timeline->model;
	const struct vt_allocation *a = &model->allocations[moment->index];
	int is_free = moment->what == VT_MOMENT_FREE;
	uint32_t stack = is_free ? a->common->freed->python_stack : a->common->made->python_stack;

	if (stack >= model->frames.python_tree.nr_stacks)
		stack = 0;
	see_optimizer(build, stack, shown.thread, vt_moment_event(build->timeline->model, moment));
}

/* The same place steps the same optimizer: where it allocates nothing we know it from before. */
static void name_by_place(struct build *build)
{
	struct vt_map places = { 0 };

	for (size_t i = 0; i < build->calls.len; i++) {
		const struct optimizer_call *call = &build->calls.items[i];

		if (call->place && call->optimizer)
			vt_map_put(&places, (struct vt_key){ call->place, 0, 0 }, call->optimizer);
	}
	for (size_t i = 0; i < build->calls.len; i++) {
		struct optimizer_call *call = &build->calls.items[i];
		uint64_t *known = vt_map_find(&places, (struct vt_key){ call->place, 0, 0 });

		if (known && !call->optimizer)
			call->optimizer = *known;
	}
	vt_map_release(&places);
}

static void find_calls(struct build *build)
{
	const struct vt_timeline *timeline = build->timeline;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		struct vt_shown shown = vt_shown_moments_at(build->shown, i);

		if (moment->what == VT_MOMENT_MARK)
			see_range(build, &timeline->model->marks[moment->index]);
		else if (shown.stage == VT_STAGE_OPTIMIZER &&
			 (moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_FREE))
			see_allocation(build, moment, shown);
	}
	name_by_place(build);
}

static int is_computing(const struct build *build, uint32_t span)
{
	uint8_t stage = build->spans[span].stage;

	return stage == VT_STAGE_FORWARD || stage == VT_STAGE_BACKWARD;
}

/* The optimizer's call that a span lies in, counted from 1; 0: none. */
static size_t closure_of(const struct build *build, uint32_t span)
{
	int64_t event = build->spans[span].first_event;
	size_t low = vt_search_first(i, build->calls.len,
				     build->calls.items[i].first_event <= event);

	return low && build->calls.items[low - 1].last_event >= event ? low : 0;
}

/* Whether an optimizer calls it, which evaluates the loss as often as it likes. */
static int is_closure(const struct build *build, uint32_t span)
{
	return closure_of(build, span) != 0;
}

static int has_closure(const struct build *build, const struct optimizer_call *call)
{
	uint32_t last = span_at(build, call->last_event);

	for (uint32_t i = span_at(build, call->first_event); i <= last; i++)
		if (is_computing(build, i) &&
		    build->spans[i].first_event >= call->first_event)
			return 1;
	return 0;
}

static void add_call(struct build *build, uint32_t index, int has_computed)
{
	const struct optimizer_call *call = &build->calls.items[index];
	struct run fresh = { index, index + 1, span_at(build, call->last_event) };
	struct run *last = build->runs.len ? &build->runs.items[build->runs.len - 1] : NULL;

	if (has_computed || has_closure(build, call)) {
		vt_vector_push(&build->runs, fresh);
	} else if (last) {
		last->end_call = fresh.end_call;
		last->last_span = fresh.last_span;
	}
}

static void find_runs(struct build *build)
{
	uint32_t next = 0;
	int has_computed = 0;

	for (uint32_t i = 0; i < build->nr_spans; i++) {
		const struct vt_span *span = &build->spans[i];

		has_computed |= is_computing(build, i) && !is_closure(build, i);
		for (; next < build->calls.len &&
		       build->calls.items[next].first_event <= span->last_event;
		     next++) {
			add_call(build, next, has_computed);
			has_computed = 0;
		}
	}
}

static int is_same(const struct optimizer_call *a, const struct optimizer_call *b)
{
	return a->optimizer == b->optimizer &&
	       (a->optimizer || (a->place == b->place && a->caller == b->caller));
}

/* Whether an optimizer of run `index` stepped in the runs from `first` on. */
static int steps_again(const struct build *build, uint32_t first, uint32_t index)
{
	const struct run *run = &build->runs.items[index];

	for (uint32_t i = build->runs.items[first].first_call; i < run->first_call; i++)
		for (uint32_t k = run->first_call; k < run->end_call; k++)
			if (is_same(&build->calls.items[i], &build->calls.items[k]))
				return 1;
	return 0;
}

static int has_stepped(const struct build *build, uint32_t call, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (is_same(&build->calls.items[i], &build->calls.items[call]))
			return 1;
	return 0;
}

/*
 * Whether another optimizer takes over with run `index`, as after a warm-up: those of the step that
 * begins with run `first` stepped before it and never step again, and none of this run did.
 * Optimizers that take turns come back.
 */
static int takes_over(const struct build *build, uint32_t first, uint32_t index)
{
	const struct run *run = &build->runs.items[index];
	uint32_t begin = build->runs.items[first].first_call;

	for (uint32_t k = begin; k < run->first_call; k++)
		if (!has_stepped(build, k, 0, begin) ||
		    has_stepped(build, k, run->first_call, (uint32_t)build->calls.len))
			return 0;
	for (uint32_t k = run->first_call; k < run->end_call; k++)
		if (has_stepped(build, k, 0, run->first_call))
			return 0;
	return 1;
}

/* Whether a backward pass fills .grad there: some update by what autograd.grad() returns. */
static int has_plain(const struct build *build, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++)
		if (build->spans[i].stage == VT_STAGE_BACKWARD &&
		    !vt_recorded_passes_is_inner(build->recorded, i))
			return 1;
	return 0;
}

/*
 * The forwards with their backward passes in a part of a step; returns how many.  What an optimizer
 * calls counts once, however often it evaluates the loss.
 */
static uint32_t add_micro_batches(struct build *build, uint32_t first, uint32_t last)
{
	struct vt_micro_batch one = { first, first };
	size_t closure = 0;
	int has_backward = 0, is_plain = has_plain(build, first, last);
	uint32_t nr = 0;

	for (uint32_t i = first; i <= last; i++) {
		size_t inside = is_computing(build, i) ? closure_of(build, i) : 0;

		if (!is_computing(build, i))
			continue;
		if (inside && inside == closure && has_backward)
			continue;
		closure = inside;
		if (build->spans[i].stage == VT_STAGE_BACKWARD) {
			has_backward |=
				!is_plain || !vt_recorded_passes_is_inner(build->recorded, i);
			one.last_span = i;
		} else if (has_backward) {
			vt_vector_push(&build->micro_batches, one);
			one.first_span = one.last_span + 1;
			has_backward = 0;
			nr++;
		}
	}
	if (has_backward) {
		vt_vector_push(&build->micro_batches, one);
		nr++;
	}
	return nr;
}

/* A step of the runs from `first` to before `end`; of its parts the one cut most often counts. */
static void push_step(struct build *build, uint32_t begin, uint32_t last, uint32_t first,
		      uint32_t end, int is_complete)
{
	struct vt_step step = { .first_span = begin,
				.last_span = last,
				.first_micro_batch = (uint32_t)build->micro_batches.len,
				.is_complete = (uint8_t)is_complete };

	for (uint32_t run = first; begin <= last; run++) {
		uint32_t stop = run < end ? build->runs.items[run].last_span : last;
		size_t mine = build->micro_batches.len;
		uint32_t nr = add_micro_batches(build, begin, stop);

		if (nr > step.nr_micro_batches) {
			step.first_micro_batch = (uint32_t)mine;
			step.nr_micro_batches = nr;
		}
		begin = stop + 1;
	}
	vt_vector_push(&build->steps, step);
}

static uint32_t find_computing(const struct build *build, uint32_t span, int with_closures)
{
	while (span < build->nr_spans &&
	       (!is_computing(build, span) || (!with_closures && is_closure(build, span))))
		span++;
	return span;
}

static void find_optimized_steps(struct build *build)
{
	uint32_t begin = find_computing(build, 0, 1), first = 0, nr = (uint32_t)build->runs.len;
	uint32_t end, nr_before = 0;

	for (end = 1; end < nr; end++)
		if (steps_again(build, first, end) || takes_over(build, first, end)) {
			push_step(build, begin, build->runs.items[end - 1].last_span, first, end,
				  1);
			begin = build->runs.items[end - 1].last_span + 1;
			nr_before = end - first;
			first = end;
		}
	end = build->runs.items[nr - 1].last_span;
	if (find_computing(build, end + 1, 0) == build->nr_spans) {
		push_step(build, begin, end, first, nr, !last_call(build)->depth);
		return;
	}
	/* What computes behind the last run is an iteration cut short, or the rest of this one. */
	if (nr - first >= nr_before) {
		push_step(build, begin, end, first, nr, 1);
		begin = end + 1;
		first = nr;
	}
	push_step(build, begin, build->nr_spans - 1, first, nr, 0);
}

static int has_stage(const struct build *build, uint8_t stage)
{
	for (uint32_t i = 0; i < build->nr_spans; i++)
		if (build->spans[i].stage == stage)
			return 1;
	return 0;
}

/* Whether it trains, or may have been about to when it ran out of memory. */
static int may_train(const struct build *build)
{
	return has_stage(build, VT_STAGE_BACKWARD) ||
	       (build->timeline->model->nr_ooms && !has_stage(build, VT_STAGE_GENERATION));
}

/* Steps of a program that changes its weights by itself. */
static void find_plain_steps(struct build *build)
{
	uint32_t begin = find_computing(build, 0, 1);
	const struct vt_model *model = build->timeline->model;
	int has_backward = 0;

	if (begin == build->nr_spans || !may_train(build))
		return;
	for (uint32_t i = begin; i < build->nr_spans; i++) {
		if (build->spans[i].stage == VT_STAGE_FORWARD && has_backward) {
			push_step(build, begin, i - 1, 0, 0, 1);
			begin = i;
			has_backward = 0;
		}
		has_backward |= build->spans[i].stage == VT_STAGE_BACKWARD &&
				(!(build->recorded->what[i] & 1u << VT_PURPOSE_RECORDED) ||
				 build->recorded->has_plain[i]);
	}
	push_step(build, begin, build->nr_spans - 1, 0, 0,
		  build->steps.len && has_backward && !model->nr_ooms);
}

void vt_steps_init(struct vt_steps *steps, const struct vt_shown_moments *shown,
		   struct vt_span *spans, uint32_t nr_spans,
		   const struct vt_recorded_passes *recorded)
{
	struct build build = { .timeline = shown->timeline,
			       .shown = shown,
			       .evidence = shown->evidence,
			       .spans = spans,
			       .nr_spans = nr_spans,
			       .recorded = recorded };

	find_calls(&build);
	find_runs(&build);
	if (build.runs.len)
		find_optimized_steps(&build);
	else
		find_plain_steps(&build);
	steps->steps = build.steps.items;
	steps->nr = (uint32_t)build.steps.len;
	steps->micro_batches = build.micro_batches.items;
	steps->nr_micro_batches = (uint32_t)build.micro_batches.len;
	for (uint32_t s = 0; s < steps->nr; s++)
		for (uint32_t i = steps->steps[s].first_span; i <= steps->steps[s].last_span; i++)
			spans[i].step = s + 1;
	vt_vector_release(&build.calls);
	vt_vector_release(&build.runs);
}

void vt_steps_release(struct vt_steps *steps)
{
	free(steps->steps);
	free(steps->micro_batches);
	memset(steps, 0, sizeof(*steps));
}
