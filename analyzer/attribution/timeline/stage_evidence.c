/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/stage_evidence.h"

#include <string.h>

#include "analyzer/attribution/calls/operators.h"
#include "analyzer/attribution/timeline/own_steps.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"

#define NO_RULE UINT8_MAX

/*
 * The first stage rule that each code object fits, as any frame and as a method of a module;
 * NO_RULE: none.
 */
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

static uint8_t rule_of(const struct vt_frames *frames, const struct code_rules *codes,
		       const struct vt_frame_python *frame)
{
	if (frame->code >= frames->nr_codes)
		return NO_RULE;
	return (frame->self_type ? codes->as_method : codes->as_frame)[frame->code];
}

/* Which stage the frames of a Python stack show; the innermost telling frame decides. */
static uint8_t judge_stack(const struct vt_frames *frames, const struct vt_rules *rules,
			   const struct code_rules *codes, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	uint8_t found = VT_NO_STAGE;

	for (unsigned i = 0; i < nr; i++) {
		uint8_t rule = rule_of(frames, codes, &frames->python[ids[i]]);

		if (rule == NO_RULE)
			continue;
		/* A forward may be called by a loop that makes tokens: look further out. */
		if (found == VT_NO_STAGE)
			found = rules->stages[rule].stage;
		else if (rules->stages[rule].stage == VT_STAGE_GENERATION)
			found = VT_STAGE_GENERATION;
		if (found != VT_STAGE_FORWARD)
			break;
	}
	return found;
}

static struct vt_stage_landmarks find_landmarks(const struct vt_frames *frames,
						const struct vt_rules *rules,
						const struct code_rules *codes, uint32_t stack)
{
	struct vt_stage_landmarks found = { 0 };
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	uint32_t node = frames->python_tree.leaves[stack];
	uint64_t self = 0; /* of the frame that the next one outwards called */

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_frame_python *frame = &frames->python[ids[i]];
		uint32_t outer = frames->python_tree.nodes[node].parent;
		uint8_t rule = rule_of(frames, codes, frame);
		uint8_t stage = rule == NO_RULE ? VT_NO_STAGE : rules->stages[rule].stage;

		if (stage == VT_STAGE_GENERATION)
			found.is_generating = 1;
		else if (stage == VT_STAGE_OPTIMIZER && (frame->self_address || self))
			/* PyTorch wraps each optimizer's step, and the wrapper has no self. */
			found.optimizer = frame->self_address ? frame->self_address : self;
		if (stage == VT_STAGE_OPTIMIZER)
			found.caller = outer;
		self = frame->self_address ? frame->self_address : self;
		node = outer;
		if (stage == VT_STAGE_FORWARD && frame->self_type && !found.is_generating) {
			found.module = frame->self_address;
			found.type = frame->self_type;
		}
	}
	if (found.optimizer)
		found.caller = 0;
	return found;
}

static uint8_t judge_scope(const struct vt_model *model, const struct vt_rules *rules,
			   uint32_t scope)
{
	const char *text = vt_model_text(model, scope);

	for (unsigned r = 0; text && r < rules->nr_stages; r++)
		if (vt_globs_match(&rules->stages[r].scope, text))
			return rules->stages[r].stage;
	return VT_NO_STAGE;
}

static struct vt_shown judge(const struct vt_stage_evidence *evidence, uint32_t node,
			     uint32_t scope, uint32_t stack, uint32_t grad)
{
	struct vt_shown shown = { .stage = VT_NO_STAGE };

	if (stack >= evidence->model->frames.python_tree.nr_stacks)
		stack = 0;
	shown.has_python = stack != 0;
	if (node)
		shown.stage = VT_STAGE_BACKWARD;
	else if (evidence->by_stack[stack] != VT_NO_STAGE)
		shown.stage = evidence->by_stack[stack];
	else if (scope < evidence->model->strings.nr)
		shown.stage = evidence->by_scope[scope];
	if (shown.stage == VT_STAGE_OPTIMIZER && grad != VT_GRAD_DISABLED &&
	    evidence->has_closure[stack]) {
		shown.stage = VT_NO_STAGE;
		/* Of the driver's memory, which comes before a block, it is not known. */
		shown.has_python = grad == VT_GRAD_ENABLED;
	}
	return shown;
}

struct vt_shown vt_stage_evidence_judge(const struct vt_stage_evidence *evidence,
					const struct vt_moment *moment)
{
	const struct vt_model *model = evidence->model;
	struct vt_shown shown = { .stage = VT_NO_STAGE };

	if (moment->what == VT_MOMENT_ALLOC) {
		const struct vt_allocation *a = &model->allocations[moment->index];

		shown = judge(evidence, a->common->made->node_class, a->common->made->scope,
			      a->common->made->python_stack, a->common->made->grad);
		shown.thread = a->common->made->thread;
		/* Functions without modules: autograd numbered what they did. */
		if (!evidence->has_forward && shown.stage == VT_NO_STAGE &&
		    a->forward_sequence != VT_NO_SEQUENCE)
			shown.stage = VT_STAGE_FORWARD;
		if (evidence->by_native_stack && shown.stage == VT_NO_STAGE &&
		    a->common->made->native_stack < model->frames.native_tree.nr_stacks)
			shown.stage = evidence->by_native_stack[a->common->made->native_stack];
	} else if (moment->what == VT_MOMENT_FREE) {
		const struct vt_caller *freed = model->allocations[moment->index].common->freed;

		shown = judge(evidence, freed->node_class, freed->scope, freed->python_stack,
			      freed->grad);
		shown.thread = freed->thread;
	} else if (moment->what == VT_MOMENT_MARK) {
		const struct vt_mark *mark = &model->marks[moment->index];

		/* Begin and end of a range show it even where nothing was allocated in between. */
		if (mark->kind != VT_MARK_POINT)
			shown = judge(evidence, 0, mark->name, 0, VT_GRAD_UNKNOWN);
		shown.thread = mark->thread;
	} else if (moment->what == VT_MOMENT_OUT_OF_MEMORY) {
		const struct vt_out_of_memory *oom = &model->ooms[moment->index];

		shown = judge(evidence, oom->node_class, oom->scope, oom->python_stack, oom->grad);
		shown.thread = oom->thread;
	}
	return shown;
}

static int has_autograd(const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->made->node_class ||
		    model->allocations[i].forward_sequence != VT_NO_SEQUENCE)
			return 1;
	return 0;
}

/* Functions that train nothing: their operators are all there is. */
static uint8_t *judge_operators(const struct vt_model *model, const struct vt_rules *rules)
{
	uint32_t nr = model->frames.native_tree.nr_stacks;
	uint8_t *found = vt_xmalloc((size_t)nr + 1);
	struct vt_operators operators;

	vt_operators_init(&operators, model, rules);
	for (uint32_t i = 0; i <= nr; i++) {
		const char *name = i < nr ? vt_operators_name(&operators, i) : NULL;

		found[i] = VT_NO_STAGE;
		for (unsigned r = 0; name && r < rules->nr_stages; r++)
			if (vt_globs_match(&rules->stages[r].op, name))
				found[i] = rules->stages[r].stage;
	}
	vt_operators_release(&operators);
	return found;
}

/* Older recordings do not say whether autograd was enabled. */
static int knows_grad(const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->made->grad != VT_GRAD_UNKNOWN)
			return 1;
	return 0;
}

/* Optimizers below whose step the model was called, or a backward pass begun. */
static void find_closures(struct vt_stage_evidence *evidence)
{
	uint32_t nr_stacks = evidence->model->frames.python_tree.nr_stacks;
	struct vt_map optimizers = { 0 };

	evidence->has_closure = vt_xcalloc((size_t)nr_stacks + 1, 1);
	if (!knows_grad(evidence->model))
		return;
	for (uint32_t i = 1; i < nr_stacks; i++) {
		uint64_t optimizer = evidence->landmarks[i].optimizer;

		if (optimizer && (evidence->by_stack[i] == VT_STAGE_FORWARD ||
				  evidence->by_stack[i] == VT_STAGE_BACKWARD))
			vt_map_put(&optimizers, (struct vt_key){ optimizer, 0, 0 }, 1);
	}
	for (uint32_t i = 1; i < nr_stacks; i++) {
		struct vt_key key = { evidence->landmarks[i].optimizer, 0, 0 };

		evidence->has_closure[i] = key.a && vt_map_find(&optimizers, key);
	}
	vt_map_release(&optimizers);
}

/* By code: some stack runs through it into a forward or a backward pass. */
static uint8_t *find_computing(const struct vt_stage_evidence *evidence)
{
	const struct vt_frames *frames = &evidence->model->frames;
	uint8_t *computes = vt_xcalloc((size_t)frames->nr_codes + 1, 1);

	for (uint32_t i = 1; i < frames->python_tree.nr_stacks; i++) {
		uint32_t ids[VT_FRAMES_MAX];
		unsigned nr = 0;

		if (evidence->by_stack[i] == VT_STAGE_FORWARD ||
		    evidence->by_stack[i] == VT_STAGE_BACKWARD)
			nr = vt_frames_python(frames, i, ids);
		for (unsigned k = 0; k < nr; k++)
			if (frames->python[ids[k]].code < frames->nr_codes)
				computes[frames->python[ids[k]].code] = 1;
	}
	return computes;
}

/* The frame node of the innermost function that takes a step; 0: none does. */
static uint32_t find_step(const struct vt_frames *frames, const uint8_t *takes_step, uint32_t stack)
{
	const struct vt_frame_tree *tree = &frames->python_tree;
	uint32_t node = tree->leaves[stack];

	while (node && !(tree->nodes[node].frame < frames->nr_python &&
			 frames->python[tree->nodes[node].frame].code < frames->nr_codes &&
			 takes_step[frames->python[tree->nodes[node].frame].code]))
		node = tree->nodes[node].parent;
	return node;
}

/* Optimizers that the program wrote itself are no classes of PyTorch's, but do what these do. */
static void find_own_steps(struct vt_stage_evidence *evidence)
{
	const struct vt_frames *frames = &evidence->model->frames;
	uint32_t nr_stacks = frames->python_tree.nr_stacks;
	uint8_t *computes, *takes_step;

	if (!evidence->model->calls.nr)
		return;
	computes = find_computing(evidence);
	takes_step = vt_own_steps_find(evidence->model, computes, evidence->by_stack);
	for (uint32_t i = 1; i < nr_stacks && takes_step; i++) {
		uint32_t node =
			evidence->by_stack[i] == VT_NO_STAGE ? find_step(frames, takes_step, i) : 0;

		if (!node)
			continue;
		evidence->by_stack[i] = VT_STAGE_OPTIMIZER;
		evidence->landmarks[i].caller = frames->python_tree.nodes[node].parent;
	}
	free(computes);
	free(takes_step);
}

void vt_stage_evidence_init(struct vt_stage_evidence *evidence, const struct vt_model *model,
			    const struct vt_rules *rules)
{
	uint32_t nr_stacks = model->frames.python_tree.nr_stacks;
	struct code_rules codes;

	evidence->model = model;
	evidence->has_forward = 0;
	evidence->by_stack = vt_xcalloc(nr_stacks + 1, 1);
	evidence->by_stack[0] = VT_NO_STAGE;
	evidence->landmarks = vt_xcalloc(nr_stacks + 1, sizeof(*evidence->landmarks));
	judge_codes(&model->frames, rules, &codes);
	for (uint32_t i = 1; i < nr_stacks; i++) {
		evidence->by_stack[i] = judge_stack(&model->frames, rules, &codes, i);
		evidence->landmarks[i] = find_landmarks(&model->frames, rules, &codes, i);
		evidence->has_forward |= evidence->by_stack[i] == VT_STAGE_FORWARD;
	}
	find_own_steps(evidence);
	find_closures(evidence);
	evidence->has_autograd = has_autograd(model);
	evidence->by_native_stack = NULL;
	if (!evidence->has_forward && !evidence->has_autograd)
		evidence->by_native_stack = judge_operators(model, rules);
	evidence->by_scope = vt_xcalloc(model->strings.nr + 1, 1);
	for (uint32_t i = 0; i < model->strings.nr; i++)
		evidence->by_scope[i] = judge_scope(model, rules, i);
	free(codes.as_frame);
	free(codes.as_method);
}

void vt_stage_evidence_release(struct vt_stage_evidence *evidence)
{
	free(evidence->by_stack);
	free(evidence->landmarks);
	free(evidence->has_closure);
	free(evidence->by_scope);
	free(evidence->by_native_stack);
	memset(evidence, 0, sizeof(*evidence));
}

const struct vt_stage_landmarks *
vt_stage_evidence_landmarks(const struct vt_stage_evidence *evidence, uint32_t python_stack)
{
	static const struct vt_stage_landmarks none;

	return python_stack < evidence->model->frames.python_tree.nr_stacks
		       ? &evidence->landmarks[python_stack]
		       : &none;
}
