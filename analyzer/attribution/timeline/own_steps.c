/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/own_steps.h"

#include <string.h>

#include "analyzer/attribution/calls/operator_classes.h"
#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/base/util.h"

#define READS_GRADIENT 1u
#define WRITES_WEIGHT  2u
#define TAKES_STEP     (READS_GRADIENT | WRITES_WEIGHT)

/* What is known of an operator by its name. */
#define IS_LAYER    1u
#define IS_IN_PLACE 2u

/* When a function's operators began. */
struct calls {
	int64_t first_event, last_event;
};

/* Functions that write one weight, in the order in which they did. */
struct pair {
	uint32_t first, second;
};

struct search {
	const struct vt_model *model;
	const uint8_t *computes;
	uint8_t *by_name;    /* by string */
	uint8_t *is_weight;  /* by allocation: a layer read it outside of backward passes */
	uint8_t *is_stepped; /* by allocation: an optimizer of PyTorch wrote it */
	uint32_t *writer;    /* by allocation: code that wrote it first + 1 */
	uint8_t *does;       /* by code */
	struct calls *calls; /* by code */
	VT_VECTOR(struct pair) pairs;
};

static void find_names(struct search *search)
{
	const struct vt_operator_calls *calls = &search->model->calls;
	uint8_t *is_known = vt_xcalloc((size_t)search->model->strings.nr + 1, 1);

	for (uint32_t i = 0; i < calls->nr; i++) {
		uint32_t id = calls->items[i].name;
		const char *name = is_known[id] ? NULL : vt_model_text(search->model, id);
		enum vt_operator_class class;

		is_known[id] = 1;
		if (!name)
			continue;
		class = vt_operator_class(name);
		if (class == VT_OPERATOR_PRODUCT || class == VT_OPERATOR_CONVOLUTION ||
		    class == VT_OPERATOR_EMBEDDING)
			search->by_name[id] |= IS_LAYER;
		if (vt_operator_is_in_place(name))
			search->by_name[id] |= IS_IN_PLACE;
	}
	free(is_known);
}

/* Layers read weights, optimizers of PyTorch write them. */
static void note_tensors(struct search *search, const struct vt_operator_call *call,
			 int is_optimizer)
{
	const struct vt_call_tensor *tensors = &search->model->calls.tensors[call->first_tensor];
	uint8_t name = search->by_name[call->name];

	for (uint32_t i = 0; i < call->nr_tensors; i++) {
		if (tensors[i].is_output || tensors[i].allocation == VT_NO_INDEX)
			continue;
		search->is_weight[tensors[i].allocation] |= (name & IS_LAYER) != 0;
		search->is_stepped[tensors[i].allocation] |=
			is_optimizer && (name & IS_IN_PLACE) && !tensors[i].position;
	}
}

/* The user's function that called it: PyTorch's own lie between.  VT_NO_INDEX: none. */
static uint32_t function_of(const struct vt_frames *frames, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);

	for (unsigned i = 0; i < nr; i++)
		if (frames->python[ids[i]].code < frames->nr_codes &&
		    !strstr(vt_frames_code(frames, ids[i])->file, "/torch/"))
			return frames->python[ids[i]].code;
	return VT_NO_INDEX;
}

static void note_writing(struct search *search, uint32_t allocation, uint32_t code)
{
	uint32_t *writer = &search->writer[allocation];
	struct pair fresh = { *writer - 1, code };

	if (!*writer)
		*writer = code + 1;
	else if (fresh.first != code)
		vt_vector_push(&search->pairs, fresh);
}

static uint8_t what_it_does(const struct search *search, const struct vt_operator_call *call,
			    const struct vt_call_tensor *t)
{
	if (t->is_output || t->allocation == VT_NO_INDEX)
		return 0;
	if (search->model->allocations[t->allocation].common->made->node_class)
		return READS_GRADIENT;
	return (search->by_name[call->name] & IS_IN_PLACE) && !t->position &&
			       search->is_weight[t->allocation] &&
			       !search->is_stepped[t->allocation]
		       ? WRITES_WEIGHT
		       : 0;
}

static void see(struct search *search, const struct vt_operator_call *call)
{
	const struct vt_call_tensor *tensors = &search->model->calls.tensors[call->first_tensor];
	uint32_t code = function_of(&search->model->frames, call->python_stack);
	struct calls *calls;

	if (code == VT_NO_INDEX || search->computes[code])
		return;
	calls = &search->calls[code];
	if (!search->does[code])
		calls->first_event = call->event;
	calls->last_event = call->event;
	for (uint32_t i = 0; i < call->nr_tensors; i++) {
		uint8_t does = what_it_does(search, call, &tensors[i]);

		search->does[code] |= does;
		if (does == WRITES_WEIGHT)
			note_writing(search, tensors[i].allocation, code);
	}
}

/*
 * Of two that take turns on the same weights the first moves them aside for one more backward pass
 * (sharpness-aware minimization), the second takes the step.
 */
static void leave_out_first(struct search *search)
{
	for (size_t i = 0; i < search->pairs.len; i++) {
		const struct pair *pair = &search->pairs.items[i];

		if (search->does[pair->second] == TAKES_STEP &&
		    search->calls[pair->first].last_event > search->calls[pair->second].first_event)
			search->does[pair->first] = 0;
	}
}

uint8_t *vt_own_steps_find(const struct vt_model *model, const uint8_t *computes,
			   const uint8_t *by_stack)
{
	const struct vt_operator_calls *calls = &model->calls;
	struct search search = { .model = model, .computes = computes };
	uint32_t nr_stacks = model->frames.python_tree.nr_stacks, nr = 0;

	search.by_name = vt_xcalloc((size_t)model->strings.nr + 1, 1);
	search.is_weight = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	search.does = vt_xcalloc((size_t)model->frames.nr_codes + 1, 1);
	search.is_stepped = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	search.writer = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*search.writer));
	search.calls = vt_xcalloc((size_t)model->frames.nr_codes + 1, sizeof(*search.calls));
	find_names(&search);
	for (int is_seeing = 0; is_seeing < 2; is_seeing++)
		for (uint32_t i = 0; i < calls->nr; i++) {
			const struct vt_operator_call *call = &calls->items[i];

			if (call->node_class || call->python_stack >= nr_stacks)
				continue;
			if (!is_seeing)
				note_tensors(&search, call,
					     by_stack[call->python_stack] == VT_STAGE_OPTIMIZER);
			else if (by_stack[call->python_stack] == VT_NR_STAGES)
				see(&search, call);
		}
	leave_out_first(&search);
	for (uint32_t c = 0; c < model->frames.nr_codes; c++) {
		search.does[c] = search.does[c] == TAKES_STEP;
		nr += search.does[c];
	}
	free(search.by_name);
	free(search.is_weight);
	free(search.is_stepped);
	free(search.writer);
	free(search.calls);
	vt_vector_release(&search.pairs);
	if (!nr) {
		free(search.does);
		return NULL;
	}
	return search.does;
}
