/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/replaced_parameters.h"

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

#define SEVERAL UINT32_MAX
/* Allocations of other threads since the last of the one that freed. */
#define MOST_BETWEEN 65536

static uint32_t seen_parameter(const struct vt_facts *facts, uint32_t allocation)
{
	const struct vt_tensor *row =
		vt_names_find(&facts->names, allocation, 1u << VT_ROLE_PARAMETER);

	return row ? (uint32_t)(row - facts->model->tensors) + 1 : 0;
}

/* The last of the thread that freed it, before that; NULL: none. */
static const struct vt_allocation *last_before_free(const struct vt_model *model,
						    const struct vt_allocation *a)
{
	const struct vt_allocation *all = model->allocations;
	size_t i = vt_search_first(k, model->nr_allocations, all[k].event < a->freed_event);
	size_t end = i > MOST_BETWEEN ? i - MOST_BETWEEN : 0;

	while (i-- > end && all[i].event > a->event)
		if (vt_allocation_is_owned(&all[i]) &&
		    all[i].common->made->thread == a->common->freed->thread)
			return &all[i];
	return NULL;
}

/* Whether one stack is the other, or below it. */
static int is_at_or_below(const struct vt_frames *frames, uint32_t stack, uint32_t above)
{
	uint32_t ids[VT_FRAMES_MAX], ids_above[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	unsigned nr_above = vt_frames_python(frames, above, ids_above);

	if (!nr_above || nr < nr_above)
		return 0;
	for (unsigned i = 0; i < nr_above; i++)
		if (ids[nr - nr_above + i] != ids_above[i])
			return 0;
	return 1;
}

/* The allocator does not split every rest off, so that equal requests can have different blocks. */
static int is_as_large(const struct vt_model *model, const struct vt_allocation *x,
		       const struct vt_allocation *y)
{
	return vt_block_rounding_least(model, x) <= y->common->size_bytes &&
	       vt_block_rounding_least(model, y) <= x->common->size_bytes;
}

/*
 * The last that was made by the line which freed a parameter, or by what it called, and is still
 * there; NULL: none.
 */
static const struct vt_allocation *made_by_line(const struct vt_model *model,
						const struct vt_allocation *a)
{
	const struct vt_allocation *made;

	if (a->freed_event == VT_NEVER || !a->common->freed->python_stack ||
	    a->common->freed->node_class)
		return NULL;
	made = last_before_free(model, a);
	if (!made || made->common->made->node_class ||
	    !vt_allocation_is_live(made, a->freed_event) ||
	    !is_at_or_below(&model->frames, made->common->made->python_stack,
			    a->common->freed->python_stack))
		return NULL;
	return made;
}

/* A line that frees several parameters frees a model, and what it made last is of none of them. */
static void replace(struct vt_facts *facts, const struct vt_allocation *a, uint32_t parameter)
{
	const struct vt_allocation *made = made_by_line(facts->model, a);
	uint32_t *replaced;

	if (!made)
		return;
	replaced = &facts->replaced[made - facts->model->allocations];
	if (*replaced || made->common->device != a->common->device ||
	    !is_as_large(facts->model, a, made))
		*replaced = SEVERAL;
	else
		*replaced = parameter;
}

void vt_replaced_parameters_find(struct vt_facts *facts)
{
	const struct vt_model *model = facts->model;

	facts->replaced = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*facts->replaced));
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		uint32_t parameter = seen_parameter(facts, i);

		/* What it replaces was made before it, so that all that is said of it is known. */
		if (facts->replaced[i] == SEVERAL)
			facts->replaced[i] = 0;
		if (!parameter)
			parameter = facts->replaced[i];
		if (parameter)
			replace(facts, &model->allocations[i], parameter);
	}
}
