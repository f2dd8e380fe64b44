/* SPDX-License-Identifier: MIT */
/*
 * How it works: one pass over all moments carries the current stage along; an event that shows a stage starts a
 * new span, an event that shows nothing stays where it is.  Three exceptions: nothing is forward before the
 * first forward; the main thread's events behind a backward pass, an optimizer step or a generation, when they
 * show nothing, are "other"; a forward without autograd in a program that trains is evaluation.
 */
#include "analyzer/stages.h"

#include <string.h>

#include "analyzer/util.h"

#define NO_STAGE VT_NR_STAGES

#define NO_RULE UINT8_MAX

/* The first stage rule that each code object fits, as any frame and as a method of a module; NO_RULE: none. */
struct code_rules {
	uint8_t *as_frame;
	uint8_t *as_method;
};

static void judge_codes(const struct vt_frames *frames, const struct vt_rules *rules,
			struct code_rules *found)
{
	found->as_frame = vt_xmalloc(frames->nr_codes);
	found->as_method = vt_xmalloc(frames->nr_codes);
	memset(found->as_frame, NO_RULE, frames->nr_codes);
	memset(found->as_method, NO_RULE, frames->nr_codes);
	for (uint32_t c = 0; c < frames->nr_codes; c++) {
		if (!frames->codes[c].file)
			continue;
		for (unsigned r = rules->nr_stages; r-- > 0;) {
			const struct vt_stage_rule *rule = &rules->stages[r];

			if (vt_globs_match_python(&rule->frame, &frames->codes[c]))
				found->as_frame[c] = found->as_method[c] = (uint8_t)r;
			else if (vt_globs_match_python(&rule->method, &frames->codes[c]))
				found->as_method[c] = (uint8_t)r;
		}
	}
}

/* Which stage the frames of a Python stack show; the innermost telling frame decides. */
static uint8_t judge_stack(const struct vt_frames *frames, const struct vt_rules *rules,
			   const struct code_rules *codes, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	uint8_t found = NO_STAGE;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_python_frame *frame = &frames->python[ids[i]];
		uint8_t rule = NO_RULE;

		if (frame->code < frames->nr_codes)
			rule = (frame->self_type ? codes->as_method : codes->as_frame)[frame->code];
		if (rule == NO_RULE)
			continue;
		/* A forward may be called by a loop that makes tokens: look further out. */
		if (found == NO_STAGE)
			found = rules->stages[rule].stage;
		else if (rules->stages[rule].stage == VT_STAGE_GENERATION)
			found = VT_STAGE_GENERATION;
		if (found != VT_STAGE_FORWARD)
			break;
	}
	return found;
}

static uint8_t judge_scope(const struct vt_model *model, const struct vt_rules *rules,
			   uint32_t scope)
{
	const char *text = vt_model_text(model, scope);

	for (unsigned r = 0; text && r < rules->nr_stages; r++)
		if (vt_globs_match(&rules->stages[r].scope, text))
			return rules->stages[r].stage;
	return NO_STAGE;
}

/* What an event shows about itself. */
struct evidence {
	uint8_t stage; /* NO_STAGE: nothing */
	uint8_t has_python;
	uint32_t thread; /* 0: unknown */
	uint64_t forward_sequence;
};

struct pass {
	struct vt_stages *stages;
	const struct vt_model *model;
	const struct vt_rules *rules;
	uint8_t *scope_evidence; /* by string */
	int has_forward; /* some event shows a forward by its frames */
	VT_VECTOR(struct vt_span) spans;
	VT_VECTOR(uint32_t) main_threads; /* those that ever showed a stage in Python */
};

static struct evidence judge(const struct pass *pass, uint32_t node, uint32_t scope, uint32_t stack)
{
	struct evidence e = { .stage = NO_STAGE, .forward_sequence = VT_NO_SEQUENCE };

	if (stack >= pass->model->frames.python_tree.nr_stacks)
		stack = 0;
	e.has_python = stack != 0;
	if (node)
		e.stage = VT_STAGE_BACKWARD;
	else if (pass->stages->stack_evidence[stack] != NO_STAGE)
		e.stage = pass->stages->stack_evidence[stack];
	else if (scope < pass->model->strings.nr)
		e.stage = pass->scope_evidence[scope];
	return e;
}

static struct evidence judge_moment(const struct pass *pass, const struct vt_moment *moment)
{
	const struct vt_model *model = pass->model;
	struct evidence e = { .stage = NO_STAGE, .forward_sequence = VT_NO_SEQUENCE };

	if (moment->what == VT_MOMENT_ALLOC) {
		const struct vt_allocation *a = &model->allocations[moment->index];

		e = judge(pass, a->node_class, a->scope, a->python_stack);
		e.thread = a->thread;
		e.forward_sequence = a->forward_sequence;
		/* Functions without modules: autograd numbered what they did. */
		if (!pass->has_forward && e.stage == NO_STAGE &&
		    a->forward_sequence != VT_NO_SEQUENCE)
			e.stage = VT_STAGE_FORWARD;
	} else if (moment->what == VT_MOMENT_FREE) {
		const struct vt_allocation *a = &model->allocations[moment->index];

		e = judge(pass, a->freed_node_class, a->freed_scope, a->freed_python_stack);
		e.thread = a->freed_thread;
	} else if (moment->what == VT_MOMENT_MARK) {
		const struct vt_mark *mark = &model->marks[moment->index];

		/* Begin and end of a range show it even where nothing was allocated in between. */
		if (mark->kind != VT_MARK_POINT)
			e = judge(pass, 0, mark->name, 0);
		e.thread = mark->thread;
	} else if (moment->what == VT_MOMENT_OUT_OF_MEMORY) {
		const struct vt_out_of_memory *oom = &model->ooms[moment->index];

		e = judge(pass, oom->node_class, oom->scope, oom->python_stack);
		e.thread = oom->thread;
	}
	return e;
}

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
		uint8_t stage = judge_moment(pass, &timeline->moments[i]).stage;

		if (stage == VT_STAGE_FORWARD || stage == VT_STAGE_GENERATION)
			return i;
		if ((stage == VT_STAGE_BACKWARD || stage == VT_STAGE_OPTIMIZER) &&
		    first_other == timeline->nr)
			first_other = i;
	}
	return first_other;
}

/* The first moment of the program's end: from there on memory is only freed, and nothing shows a stage. */
static uint32_t find_tail(const struct pass *pass)
{
	const struct vt_timeline *timeline = pass->stages->timeline;
	uint32_t i = timeline->nr;

	while (i) {
		const struct vt_moment *moment = &timeline->moments[i - 1];

		if (moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_OUT_OF_MEMORY ||
		    judge_moment(pass, moment).stage != NO_STAGE)
			break;
		i--;
	}
	return i;
}

static uint8_t next_stage(const struct pass *pass, uint8_t current, const struct evidence *e)
{
	if (e->stage == VT_STAGE_LOAD)
		return VT_STAGE_OTHER; /* modules made or moved in the middle of the run */
	if (e->stage != NO_STAGE)
		return e->stage;
	if (current == VT_STAGE_BACKWARD || current == VT_STAGE_OPTIMIZER ||
	    current == VT_STAGE_GENERATION)
		return e->has_python && is_main_thread(pass, e->thread) ? VT_STAGE_OTHER : current;
	return current;
}

static void enter(struct pass *pass, uint8_t stage, int64_t event)
{
	struct vt_span span = { .first_event = event, .stage = stage };
	struct vt_span *last = pass->spans.len ? &pass->spans.items[pass->spans.len - 1] : NULL;

	if (last && last->stage == stage)
		return;
	/* Two moments of one event: it belongs to the span that it began in. */
	if (last && last->first_event == event)
		return;
	if (last)
		last->last_event = event - 1;
	vt_vector_push(&pass->spans, span);
}

static void cut(struct pass *pass)
{
	const struct vt_timeline *timeline = pass->stages->timeline;
	uint32_t first = find_first_forward(pass);
	uint32_t end = find_tail(pass);
	uint8_t current = first < timeline->nr ? VT_STAGE_LOAD : VT_STAGE_OTHER;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		struct evidence e = judge_moment(pass, moment);

		/* What did not fit is given up; what follows, if anything, shows itself. */
		if (i >= end || (i && moment[-1].what == VT_MOMENT_OUT_OF_MEMORY))
			current = VT_STAGE_OTHER;

		if (e.stage != NO_STAGE && e.has_python && !is_main_thread(pass, e.thread) &&
		    e.stage != VT_STAGE_OTHER)
			vt_vector_push(&pass->main_threads, e.thread);
		if (i >= first)
			current = next_stage(pass, current, &e);
		enter(pass, current, moment->event);
	}
	if (pass->spans.len)
		pass->spans.items[pass->spans.len - 1].last_event = pass->model->last_event;
}

static uint8_t next_told_stage(const struct pass *pass, size_t span)
{
	for (size_t i = span + 1; i < pass->spans.len; i++)
		if (pass->spans.items[i].stage != VT_STAGE_OTHER)
			return pass->spans.items[i].stage;
	return NO_STAGE;
}

/* Whether autograd numbered new nodes on a thread during these events. */
static int has_autograd(const struct pass *pass, const struct vt_span *span)
{
	const struct vt_timeline *timeline = pass->stages->timeline;
	uint64_t first = VT_NO_SEQUENCE;

	for (uint32_t i = vt_timeline_after(timeline, span->first_event - 1);
	     i < timeline->nr && timeline->moments[i].event <= span->last_event; i++) {
		uint64_t sequence = judge_moment(pass, &timeline->moments[i]).forward_sequence;

		if (sequence == VT_NO_SEQUENCE)
			continue;
		if (first != VT_NO_SEQUENCE && sequence != first)
			return 1;
		first = sequence;
	}
	return 0;
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
	int is_training = count_stage(pass, VT_STAGE_BACKWARD) > 0;

	for (size_t i = 0; is_training && i < pass->spans.len; i++) {
		struct vt_span *span = &pass->spans.items[i];

		if (span->stage == VT_STAGE_FORWARD && !has_autograd(pass, span) &&
		    next_told_stage(pass, i) != VT_STAGE_BACKWARD)
			span->stage = VT_STAGE_EVALUATION;
	}
}

static int is_computing(uint8_t stage)
{
	return stage == VT_STAGE_FORWARD || stage == VT_STAGE_BACKWARD;
}

static void push_step(struct vt_stages *stages, size_t *capacity, uint32_t first, uint32_t last,
		      int is_complete)
{
	struct vt_step step = { first, last, (uint8_t)is_complete };

	stages->steps = vt_vector_grow(stages->steps, capacity, stages->nr_steps + 1, sizeof(step));
	stages->steps[stages->nr_steps++] = step;
}

/*
 * A step: from behind the optimizer step before it to the end of its own.  What follows the last one counts
 * as an unfinished step when the program began to compute again.
 */
static void find_steps(struct pass *pass)
{
	uint32_t nr_spans = (uint32_t)pass->spans.len, begin = 0, optimizer = 0;
	int is_open = 0, is_stepping = 0;
	size_t capacity = 0;

	for (uint32_t i = 0; i < nr_spans; i++) {
		uint8_t stage = pass->spans.items[i].stage;

		if (is_computing(stage)) {
			if (is_stepping) {
				push_step(pass->stages, &capacity, begin, optimizer, 1);
				begin = optimizer + 1;
				is_stepping = 0;
			} else if (!is_open && !pass->stages->nr_steps) {
				begin = i;
			}
			is_open = 1;
		} else if (stage == VT_STAGE_OPTIMIZER && is_open) {
			is_stepping = 1;
			optimizer = i;
		}
	}
	if (is_stepping)
		push_step(pass->stages, &capacity, begin, optimizer, 1);
	else if (is_open)
		push_step(pass->stages, &capacity, begin, nr_spans - 1, 0);
}

static void number_steps(struct pass *pass)
{
	struct vt_stages *stages = pass->stages;

	/* Without an optimizer, one pass may be an interrupted step; several are no steps that we know. */
	if (!count_stage(pass, VT_STAGE_OPTIMIZER) && count_stage(pass, VT_STAGE_BACKWARD) != 1 &&
	    !stages->timeline->model->nr_ooms)
		return;
	find_steps(pass);
	for (uint32_t s = 0; s < stages->nr_steps; s++)
		for (uint32_t i = stages->steps[s].first_span; i <= stages->steps[s].last_span; i++)
			pass->spans.items[i].step = s + 1;
}

static void add_up_device(struct vt_stages *stages, uint32_t device_index)
{
	const struct vt_timeline *timeline = stages->timeline;
	int device = timeline->model->devices[device_index].id;
	uint32_t nr_devices = timeline->model->nr_devices;
	struct vt_totals now = { 0, 0 };
	uint32_t moment = 0;

	for (uint32_t i = 0; i < stages->nr_spans; i++) {
		struct vt_span_totals *t = &stages->totals[(size_t)i * nr_devices + device_index];

		t->peak_event = stages->spans[i].first_event;
		for (; moment < timeline->nr &&
		       timeline->moments[moment].event <= stages->spans[i].last_event; moment++) {
			vt_timeline_add(timeline, &timeline->moments[moment], device, &now);
			if (now.used_bytes > t->peak_used_bytes) {
				t->peak_used_bytes = now.used_bytes;
				t->peak_event = timeline->moments[moment].event;
			}
		}
		t->end_allocated_bytes = now.allocated_bytes;
	}
}

void vt_stages_init(struct vt_stages *stages, const struct vt_timeline *timeline,
		    const struct vt_rules *rules)
{
	const struct vt_model *model = timeline->model;
	uint32_t nr_stacks = model->frames.python_tree.nr_stacks;
	struct pass pass = { .stages = stages, .model = model, .rules = rules };
	struct code_rules codes;

	memset(stages, 0, sizeof(*stages));
	stages->timeline = timeline;
	stages->stack_evidence = vt_xcalloc(nr_stacks + 1, 1);
	stages->stack_evidence[0] = NO_STAGE;
	judge_codes(&model->frames, rules, &codes);
	for (uint32_t i = 1; i < nr_stacks; i++) {
		stages->stack_evidence[i] = judge_stack(&model->frames, rules, &codes, i);
		pass.has_forward |= stages->stack_evidence[i] == VT_STAGE_FORWARD;
	}
	pass.scope_evidence = vt_xcalloc(model->strings.nr + 1, 1);
	for (uint32_t i = 0; i < model->strings.nr; i++)
		pass.scope_evidence[i] = judge_scope(model, rules, i);
	cut(&pass);
	find_evaluations(&pass);
	number_steps(&pass);
	stages->spans = pass.spans.items;
	stages->nr_spans = (uint32_t)pass.spans.len;
	stages->totals = vt_xcalloc((size_t)stages->nr_spans * model->nr_devices + 1,
				    sizeof(*stages->totals));
	for (uint32_t i = 0; i < model->nr_devices; i++)
		add_up_device(stages, i);
	vt_vector_release(&pass.main_threads);
	free(pass.scope_evidence);
	free(codes.as_frame);
	free(codes.as_method);
}

void vt_stages_release(struct vt_stages *stages)
{
	free(stages->spans);
	free(stages->totals);
	free(stages->steps);
	free(stages->stack_evidence);
	memset(stages, 0, sizeof(*stages));
}

uint32_t vt_stages_span_at(const struct vt_stages *stages, int64_t event)
{
	uint32_t low = 0, high = stages->nr_spans;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (stages->spans[middle].last_event < event)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == stages->nr_spans)
		return low ? low - 1 : VT_NO_INDEX;
	return low;
}

const struct vt_step *vt_stages_step(const struct vt_stages *stages, uint32_t step)
{
	return step && step <= stages->nr_steps ? &stages->steps[step - 1] : NULL;
}

const struct vt_span_totals *vt_stages_totals(const struct vt_stages *stages, uint32_t span,
					      uint32_t device_index)
{
	return &stages->totals[(size_t)span * stages->timeline->model->nr_devices + device_index];
}
