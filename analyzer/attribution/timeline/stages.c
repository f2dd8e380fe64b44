/* SPDX-License-Identifier: MIT */
/*
 * How it works: one pass over all moments carries the current stage along; an event that shows a
 * stage starts a new span, an event that shows nothing stays where it is.  Four exceptions:
 * nothing is forward before the first forward; the main thread's events behind a backward pass, an
 * optimizer step or a generation, when they show nothing, are "other"; a forward that serves no
 * training step, in a program that trains, is evaluation (call_uses.h); a forward in a loop that
 * makes tokens (passes.h) is generation.
 */
#include "analyzer/attribution/timeline/stages.h"

#include <string.h>

#include "analyzer/attribution/timeline/decoding.h"
#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"

struct pass {
	struct vt_stages *stages;
	const struct vt_model *model;
	struct vt_shown_moments shown;
	VT_VECTOR(struct vt_span) spans;
	VT_VECTOR(uint32_t) main_threads; /* those that ever showed a stage in Python */
	int is_evaluating;
	uint32_t loop; /* the first of passes.loops that did not end yet */
	int is_behind_loop;
};

static int is_main_thread(const struct pass *pass, uint32_t thread)
{
	for (size_t i = 0; i < pass->main_threads.len; i++)
		if (pass->main_threads.items[i] == thread)
			return 1;
	return 0;
}

/* The event with which loading ends; past the last one when nothing shows a stage. */
static uint32_t find_first_forward(const struct pass *pass)
{
	const struct vt_timeline *timeline = pass->stages->timeline;
	uint32_t first_other = timeline->nr;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		uint8_t stage = vt_shown_moments_at(&pass->shown, i).stage;

		if (stage == VT_STAGE_FORWARD || stage == VT_STAGE_GENERATION)
			return i;
		if ((stage == VT_STAGE_BACKWARD || stage == VT_STAGE_OPTIMIZER) &&
		    first_other == timeline->nr)
			first_other = i;
	}
	return first_other;
}

/*
 * The first moment of the program's end: from there on memory is only freed, and nothing shows a
 * stage.
 */
static uint32_t find_tail(const struct pass *pass)
{
	const struct vt_timeline *timeline = pass->stages->timeline;
	uint32_t i = timeline->nr;

	while (i) {
		const struct vt_moment *moment = &timeline->moments[i - 1];

		if (moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_OUT_OF_MEMORY ||
		    vt_shown_moments_at(&pass->shown, i - 1).stage != VT_NO_STAGE)
			break;
		i--;
	}
	return i;
}

static uint8_t next_stage(const struct pass *pass, uint8_t current, const struct vt_shown *e)
{
	if (e->stage == VT_STAGE_LOAD)
		return VT_STAGE_OTHER; /* modules made or moved in the middle of the run */
	if (e->stage != VT_NO_STAGE)
		return e->stage;
	if (current == VT_STAGE_BACKWARD || current == VT_STAGE_OPTIMIZER ||
	    current == VT_STAGE_GENERATION)
		return e->has_python && is_main_thread(pass, e->thread) ? VT_STAGE_OTHER : current;
	return current;
}

/*
 * Whether a forward's moment belongs to an evaluation, which goes on between its calls, and with
 * modules that are never trained (a metric's network).
 */
static int is_evaluation(struct pass *pass, uint8_t stage, const struct vt_shown *shown,
			 const struct vt_moment *moment)
{
	const struct vt_calls *calls = &pass->stages->calls;
	uint32_t call =
		moment->what == VT_MOMENT_ALLOC ? calls->by_allocation[moment->index].call : 0;
	uint8_t use = pass->stages->call_uses.by_call[call];

	if (stage == VT_STAGE_BACKWARD || stage == VT_STAGE_OPTIMIZER)
		pass->is_evaluating = 0;
	else if (shown->stage == VT_STAGE_FORWARD && use != VT_CALL_UNDECIDED)
		pass->is_evaluating = use == VT_CALL_EVALUATES;
	return pass->is_evaluating && stage == VT_STAGE_FORWARD;
}

static void enter(struct pass *pass, uint8_t stage, const struct vt_moment *moment)
{
	struct vt_span span = { .stage = stage };
	struct vt_span *last = pass->spans.len ? &pass->spans.items[pass->spans.len - 1] : NULL;

	if (last && last->stage == stage)
		return;
	span.first_event = vt_moment_event(pass->model, moment);
	/* Two moments of one event: it belongs to the span that it began in. */
	if (last && last->first_event == span.first_event)
		return;
	if (last)
		last->last_event = span.first_event - 1;
	vt_vector_push(&pass->spans, span);
}

/* Whether an event lies in a loop that makes tokens and shows no frame that says so. */
static int is_in_loop(struct pass *pass, const struct vt_moment *moment)
{
	const struct vt_passes *passes = &pass->stages->passes;
	int64_t event;

	if (pass->loop >= passes->nr_loops)
		return 0;
	event = vt_moment_event(pass->model, moment);
	while (pass->loop < passes->nr_loops && passes->loops[pass->loop].last_event < event)
		pass->loop++;
	return pass->loop < passes->nr_loops && passes->loops[pass->loop].first_event <= event;
}

/* What a moment counts as that is a forward by itself; *stage goes on to the next moment. */
static uint8_t judge_forward(struct pass *pass, uint8_t *stage, const struct vt_shown *shown,
			     const struct vt_moment *moment)
{
	if (is_in_loop(pass, moment)) {
		pass->is_behind_loop = 1;
		return *stage == VT_STAGE_FORWARD ? VT_STAGE_GENERATION : *stage;
	}
	/* Behind the loop nothing is forward that does not show it, as behind a backward pass. */
	if (shown->stage != VT_NO_STAGE)
		pass->is_behind_loop = 0;
	else if (pass->is_behind_loop && *stage == VT_STAGE_FORWARD)
		*stage = VT_STAGE_OTHER;
	return is_evaluation(pass, *stage, shown, moment) ? VT_STAGE_EVALUATION : *stage;
}

static void cut(struct pass *pass)
{
	const struct vt_timeline *timeline = pass->stages->timeline;
	uint32_t first = find_first_forward(pass);
	uint32_t end = find_tail(pass);
	uint8_t current = first < timeline->nr ? VT_STAGE_LOAD : VT_STAGE_OTHER;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		struct vt_shown e = vt_shown_moments_at(&pass->shown, i);

		/* What did not fit is given up; what follows, if anything, shows itself. */
		if (i >= end || (i && moment[-1].what == VT_MOMENT_OUT_OF_MEMORY))
			current = VT_STAGE_OTHER;

		if (e.stage != VT_NO_STAGE && e.has_python && !is_main_thread(pass, e.thread) &&
		    e.stage != VT_STAGE_OTHER)
			vt_vector_push(&pass->main_threads, e.thread);
		if (i >= first)
			current = next_stage(pass, current, &e);
		enter(pass, judge_forward(pass, &current, &e, moment), moment);
	}
	if (pass->spans.len)
		pass->spans.items[pass->spans.len - 1].last_event = pass->model->last_event;
}

static uint8_t next_told_stage(const struct pass *pass, size_t span)
{
	for (size_t i = span + 1; i < pass->spans.len; i++)
		if (pass->spans.items[i].stage != VT_STAGE_OTHER)
			return pass->spans.items[i].stage;
	return VT_NO_STAGE;
}

/* The last sequence number that each thread was seen with. */
struct last_number {
	uint32_t thread;
	uint64_t sequence;
};

typedef VT_VECTOR(struct last_number) number_vector;

/* Whether autograd numbered a new node on that thread since its last allocation. */
static int has_new_number(number_vector *numbers, const struct vt_allocation *a)
{
	struct last_number one = { a->common->made->thread, a->forward_sequence };

	for (size_t i = 0; i < numbers->len; i++) {
		struct last_number *known = &numbers->items[i];

		if (known->thread != a->common->made->thread)
			continue;
		if (known->sequence == a->forward_sequence)
			return 0;
		known->sequence = a->forward_sequence;
		return 1;
	}
	vt_vector_push(numbers, one);
	return a->forward_sequence != VT_NO_SEQUENCE;
}

/*
 * By span: whether autograd numbered nodes in it, which it does not under no_grad, or modules were
 * called, of which more is known (call_uses.h).
 */
static uint8_t *find_autograd(const struct pass *pass)
{
	uint8_t *found = vt_xcalloc(pass->spans.len + 1, 1);
	number_vector numbers = { 0 };
	size_t span = 0;

	for (uint32_t i = 0; i < pass->model->nr_allocations; i++) {
		const struct vt_allocation *a = &pass->model->allocations[i];

		if (a->common->made->node_class)
			continue;
		while (span + 1 < pass->spans.len && pass->spans.items[span].last_event < a->event)
			span++;
		found[span] |= has_new_number(&numbers, a) ||
			       pass->stages->calls.by_allocation[i].call;
	}
	vt_vector_release(&numbers);
	return found;
}

static uint32_t count_stage(const struct pass *pass, uint8_t stage)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < pass->spans.len; i++)
		nr += pass->spans.items[i].stage == stage;
	return nr;
}

static void find_evaluations(struct pass *pass)
{
	uint8_t *has_autograd;

	if (!count_stage(pass, VT_STAGE_BACKWARD))
		return;
	has_autograd = find_autograd(pass);
	for (size_t i = 0; i < pass->spans.len; i++)
		if (pass->spans.items[i].stage == VT_STAGE_FORWARD && !has_autograd[i] &&
		    next_told_stage(pass, i) != VT_STAGE_BACKWARD)
			pass->spans.items[i].stage = VT_STAGE_EVALUATION;
	free(has_autograd);
}

static struct vt_range_totals *add_up_spans(const struct vt_stages *stages)
{
	struct vt_range *ranges = vt_xcalloc((size_t)stages->nr_spans + 1, sizeof(*ranges));
	struct vt_range_totals *totals;

	for (uint32_t i = 0; i < stages->nr_spans; i++) {
		ranges[i].first_event = stages->spans[i].first_event;
		ranges[i].last_event = stages->spans[i].last_event;
	}
	totals = vt_totals_add_up(stages->timeline, ranges, stages->nr_spans);
	free(ranges);
	return totals;
}

static void find_calls(struct pass *pass)
{
	struct vt_stages *stages = pass->stages;

	vt_calls_init(&stages->calls, stages->timeline, &stages->module_stacks);
}

static void find_shown(struct pass *pass)
{
	vt_shown_moments_init(&pass->shown, &pass->stages->evidence, pass->stages->timeline);
}

static void find_call_uses(struct pass *pass)
{
	vt_call_uses_init(&pass->stages->call_uses, &pass->shown, &pass->stages->calls,
			  &pass->stages->module_stacks);
}

static void find_passes(struct pass *pass)
{
	struct vt_stages *stages = pass->stages;

	vt_passes_init(&stages->passes, stages->timeline, &stages->evidence, &stages->calls);
	vt_decoding_find(&stages->passes, stages->timeline->model, &stages->module_stacks,
			 stages->rules);
}

static void find_steps(struct pass *pass)
{
	struct vt_stages *stages = pass->stages;

	vt_recorded_passes_init(&stages->recorded, stages->timeline->model, &stages->index);
	vt_steps_init(&stages->steps, &pass->shown, stages->spans, stages->nr_spans,
		      &stages->recorded);
}

static void find_totals(struct pass *pass)
{
	pass->stages->totals = add_up_spans(pass->stages);
}

/* Neither of two needs what the other finds. */
typedef void (*search_fn)(struct pass *pass);

struct pair {
	struct pass *pass;
	search_fn searches[2];
};

static void search(void *context, size_t number)
{
	const struct pair *pair = context;

	pair->searches[number](pair->pass);
}

static void run_pair(struct pass *pass, search_fn one, search_fn other)
{
	struct pair pair = { pass, { one, other } };

	vt_parallel_run(2, search, &pair);
}

void vt_stages_init(struct vt_stages *stages, const struct vt_timeline *timeline,
		    const struct vt_rules *rules)
{
	const struct vt_model *model = timeline->model;
	struct pass pass = { .stages = stages, .model = model };

	memset(stages, 0, sizeof(*stages));
	stages->timeline = timeline;
	stages->rules = rules;
	vt_stage_evidence_init(&stages->evidence, model, rules);
	vt_module_stacks_init(&stages->module_stacks, model, rules);
	run_pair(&pass, find_calls, find_shown);
	run_pair(&pass, find_call_uses, find_passes);
	cut(&pass);
	find_evaluations(&pass);
	stages->spans = pass.spans.items;
	stages->nr_spans = (uint32_t)pass.spans.len;
	vt_spans_index_init(&stages->index, stages->spans, stages->nr_spans);
	run_pair(&pass, find_steps, find_totals);
	vt_shown_moments_release(&pass.shown);
	vt_vector_release(&pass.main_threads);
}

void vt_stages_release(struct vt_stages *stages)
{
	free(stages->spans);
	vt_spans_index_release(&stages->index);
	free(stages->totals);
	vt_recorded_passes_release(&stages->recorded);
	vt_steps_release(&stages->steps);
	vt_stage_evidence_release(&stages->evidence);
	vt_module_stacks_release(&stages->module_stacks);
	vt_calls_release(&stages->calls);
	vt_call_uses_release(&stages->call_uses);
	vt_passes_release(&stages->passes);
	memset(stages, 0, sizeof(*stages));
}

uint32_t vt_stages_span_at(const struct vt_stages *stages, int64_t event)
{
	return vt_spans_index_find(&stages->index, event);
}

uint32_t vt_stages_purposes(const struct vt_stages *stages, const struct vt_allocation *a)
{
	uint32_t span = vt_stages_span_at(stages, a->event);

	return a->common->made->node_class && span != VT_NO_INDEX ? stages->recorded.what[span] : 0;
}

int64_t vt_stages_next_backward(const struct vt_stages *stages, int64_t event)
{
	for (uint32_t s = vt_stages_span_at(stages, event); s < stages->nr_spans; s++)
		if (stages->spans[s].stage == VT_STAGE_BACKWARD &&
		    stages->spans[s].first_event > event)
			return stages->spans[s].first_event;
	return VT_NEVER;
}

const struct vt_step *vt_stages_step(const struct vt_stages *stages, uint32_t step)
{
	return step && step <= stages->steps.nr ? &stages->steps.steps[step - 1] : NULL;
}

int vt_stages_has(const struct vt_stages *stages, enum vt_stage stage)
{
	for (uint32_t i = 0; i < stages->nr_spans; i++)
		if (stages->spans[i].stage == stage)
			return 1;
	return 0;
}

int64_t vt_stages_ended(const struct vt_stages *stages, int64_t event)
{
	int64_t end = 0;

	for (uint32_t i = 0; i < stages->steps.nr; i++) {
		const struct vt_step *step = &stages->steps.steps[i];

		if (step->is_complete && stages->spans[step->last_span].last_event < event)
			end = stages->spans[step->last_span].last_event;
	}
	return end;
}

uint32_t vt_stages_micro_batch(const struct vt_stages *stages, uint32_t index)
{
	const struct vt_steps *steps = &stages->steps;
	const struct vt_step *step = vt_stages_step(stages, stages->spans[index].step);
	uint8_t stage = stages->spans[index].stage;
	uint32_t most = 0, nr = 1;

	for (uint32_t i = 0; i < steps->nr; i++)
		if (steps->steps[i].nr_micro_batches > most)
			most = steps->steps[i].nr_micro_batches;
	if (most < 2 || !step || (stage != VT_STAGE_FORWARD && stage != VT_STAGE_BACKWARD))
		return 0;
	for (uint32_t i = 0; i < step->nr_micro_batches; i++)
		nr += steps->micro_batches[step->first_micro_batch + i].last_span < index;
	return nr;
}

char *vt_stages_doing(const struct vt_stages *stages, int64_t event)
{
	uint32_t index = vt_stages_span_at(stages, event), micro_batch;
	const struct vt_span *span;

	if (index == VT_NO_INDEX)
		return NULL;
	span = &stages->spans[index];
	if (span->stage == VT_NO_STAGE)
		return NULL;
	micro_batch = vt_stages_micro_batch(stages, index);
	if (micro_batch)
		return vt_xasprintf("step %u, micro-batch %u, %s", span->step, micro_batch,
				    vt_evidence_stages[span->stage]);
	return span->step ? vt_xasprintf("step %u, %s", span->step,
					 vt_evidence_stages[span->stage]) :
			    vt_xstrdup(vt_evidence_stages[span->stage]);
}

const struct vt_range_totals *vt_stages_totals(const struct vt_stages *stages, uint32_t span,
					       uint32_t device_index)
{
	return &stages->totals[(size_t)span * stages->timeline->model->nr_devices + device_index];
}

struct vt_range *vt_stages_passes(const struct vt_stages *stages)
{
	const struct vt_passes *passes = &stages->passes;
	struct vt_range *ranges = vt_xcalloc((size_t)passes->nr + 1, sizeof(*ranges));

	for (uint32_t i = 0; i < passes->nr; i++) {
		uint32_t span = vt_stages_span_at(stages, passes->passes[i].first_event);

		ranges[i].first_event = passes->passes[i].first_event;
		ranges[i].last_event = stages->spans[span].last_event;
		if (i + 1 < passes->nr && passes->passes[i + 1].first_event <= ranges[i].last_event)
			ranges[i].last_event = passes->passes[i + 1].first_event - 1;
	}
	return ranges;
}
