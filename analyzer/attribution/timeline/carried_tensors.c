/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/carried_tensors.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/sort.h"

/* A cache has keys and values. */
#define LEAST_COPIES 2
/* Times that a prompt's cache may be multiplied: the continuations that one prompt gets. */
#define MOST_MULTIPLE 256

struct place {
	uint64_t module;
	uint32_t generation;
	uint32_t pass;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->pass < y->pass ? -1 : x->pass > y->pass;
}

static void order_passes(struct vt_carried_tensors *carried)
{
	const struct vt_passes *passes = carried->passes;
	struct place *places = vt_xcalloc((size_t)passes->nr + 1, sizeof(*places));

	for (uint32_t i = 0; i < passes->nr; i++)
		places[i] = (struct place){ passes->passes[i].module, passes->passes[i].generation,
					    i };
	vt_sort(places, passes->nr, compare_places);
	carried->nr = passes->nr;
	carried->order = vt_xcalloc((size_t)passes->nr + 1, sizeof(*carried->order));
	for (uint32_t i = 0; i < passes->nr; i++)
		carried->order[i] = places[i].pass;
	free(places);
}

static void find_first_allocations(struct vt_carried_tensors *carried)
{
	const struct vt_passes *passes = carried->passes;
	uint32_t next = 0;

	carried->first = vt_xcalloc((size_t)passes->nr + 1, sizeof(*carried->first));
	for (uint32_t i = 0; i < carried->model->nr_allocations; i++) {
		uint32_t pass = vt_passes_find(passes, &carried->model->allocations[i]);

		if (pass != VT_NO_INDEX)
			while (next <= pass)
				carried->first[next++] = i;
	}
	while (next <= passes->nr)
		carried->first[next++] = carried->model->nr_allocations;
}

void vt_carried_tensors_init(struct vt_carried_tensors *carried, const struct vt_passes *passes,
			     const struct vt_model *model,
			     const struct vt_module_stacks *module_stacks)
{
	memset(carried, 0, sizeof(*carried));
	carried->passes = passes;
	carried->model = model;
	carried->module_stacks = module_stacks;
	find_first_allocations(carried);
	order_passes(carried);
}

void vt_carried_tensors_release(struct vt_carried_tensors *carried)
{
	free(carried->first);
	free(carried->order);
	memset(carried, 0, sizeof(*carried));
}

const struct vt_pass *vt_carried_tensors_pass(const struct vt_carried_tensors *carried,
					      uint32_t position)
{
	return &carried->passes->passes[carried->order[position]];
}

const struct vt_pass *vt_carried_tensors_later(const struct vt_carried_tensors *carried,
					       uint32_t position, uint32_t calls)
{
	const struct vt_pass *pass = vt_carried_tensors_pass(carried, position), *found;

	if (position + calls >= carried->nr)
		return NULL;
	found = vt_carried_tensors_pass(carried, position + calls);
	return found->module == pass->module && found->generation == pass->generation ? found
										      : NULL;
}

uint64_t vt_carried_tensors_first_size(const struct vt_carried_tensors *carried, uint32_t position)
{
	uint32_t pass = carried->order[position];

	for (uint32_t i = carried->first[pass]; i < carried->first[pass + 1]; i++) {
		const struct vt_allocation *a = &carried->model->allocations[i];

		if (vt_allocation_is_owned(a) && vt_pass_has(&carried->passes->passes[pass], a))
			return a->common->size_bytes;
	}
	return 0;
}

int vt_carried_tensors_is_as_large(uint64_t size_bytes, uint64_t other_bytes)
{
	uint64_t more = size_bytes > other_bytes ? size_bytes : other_bytes;
	uint64_t less = size_bytes > other_bytes ? other_bytes : size_bytes;

	return more == less ||
	       (less > VT_SETTINGS_SMALL_MAX && more - less <= VT_SETTINGS_SMALL_MAX);
}

/* Whether a copy holds the original one or several times. */
static int is_multiple(uint64_t size_bytes, uint64_t copy_bytes)
{
	uint64_t times;

	/* A damaged file may have any size. */
	if (!size_bytes)
		return 0;
	times = (copy_bytes + size_bytes / 2) / size_bytes;
	if (!times || times > MOST_MULTIPLE)
		return 0;
	return vt_carried_tensors_is_as_large(times * size_bytes, copy_bytes);
}

/* Alive when the module is called again, gone when it is called once more. */
static int is_handed(const struct vt_carried_tensors *carried, uint32_t position,
		     const struct vt_allocation *a)
{
	const struct vt_pass *next = vt_carried_tensors_later(carried, position, 1);
	const struct vt_pass *after = vt_carried_tensors_later(carried, position, 2);
	int64_t end = vt_carried_tensors_pass(carried, position)->end_event;
	int64_t begin = next ? next->first_event : end;

	if (!vt_allocation_is_owned(a) || a->freed_event < begin)
		return 0;
	return !after || a->freed_event < after->first_event;
}

static struct vt_carried_tensor describe(const struct vt_carried_tensors *carried,
					 uint32_t allocation)
{
	const struct vt_allocation *a = &carried->model->allocations[allocation];
	uint32_t ids[VT_FRAMES_MAX], nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(carried->module_stacks, a->common->made->python_stack, &nr);
	struct vt_carried_tensor one = { .module = nr ? links[0].address : 0,
					 .type = nr ? links[0].type : 0,
					 .allocation = allocation,
					 .size_bytes = a->common->size_bytes };

	if (vt_frames_python(&carried->model->frames, a->common->made->python_stack, ids))
		one.frame = ids[0];
	return one;
}

/* What the program made between this call and the next of its module, in no call of any. */
static void gather_between(const struct vt_carried_tensors *carried, uint32_t position,
			   vt_carried_vector *found)
{
	const struct vt_pass *pass = vt_carried_tensors_pass(carried, position);
	uint32_t here = carried->order[position], end = here + 1;

	if (vt_carried_tensors_later(carried, position, 1))
		end = carried->order[position + 1];
	for (uint32_t i = carried->first[here]; i < carried->first[end]; i++) {
		const struct vt_allocation *a = &carried->model->allocations[i];

		if (vt_allocation_is_owned(a) && a->common->made->thread == pass->thread &&
		    a->common->made->python_stack && !a->common->made->node_class &&
		    vt_passes_find(carried->passes, a) == VT_NO_INDEX)
			vt_vector_push(found, describe(carried, i));
	}
}

/*
 * Whether what replaces a block that died between two calls was handed over, be it the copy of a
 * copy: each is made while what it copies is there.
 */
static int has_copies(const struct vt_carried_tensors *carried, uint32_t position,
		      const struct vt_allocation *a, const vt_carried_vector *between)
{
	int64_t last_event = a->freed_event;
	unsigned nr = 0;

	for (size_t i = 0; i < between->len && nr < LEAST_COPIES; i++) {
		const struct vt_carried_tensor *copy = &between->items[i];
		const struct vt_allocation *c = &carried->model->allocations[copy->allocation];

		if (c->event > last_event ||
		    !is_multiple(a->common->size_bytes, c->common->size_bytes))
			continue;
		if (c->freed_event > last_event)
			last_event = c->freed_event;
		nr += is_handed(carried, position, c);
	}
	return nr >= LEAST_COPIES;
}

static int is_left(const struct vt_carried_tensors *carried, uint32_t position,
		   const struct vt_allocation *a, const vt_carried_vector *between)
{
	const struct vt_pass *next = vt_carried_tensors_later(carried, position, 1);

	if (is_handed(carried, position, a))
		return 1;
	return next && vt_allocation_is_owned(a) && a->freed_event < next->first_event &&
	       a->freed_event >= vt_carried_tensors_pass(carried, position)->end_event &&
	       has_copies(carried, position, a, between);
}

int vt_carried_tensors_is_same(const struct vt_carried_tensor *one,
			       const struct vt_carried_tensor *other)
{
	return one->type == other->type && one->frame == other->frame &&
	       one->occurrence == other->occurrence;
}

static int compare_carried(const void *a, const void *b)
{
	const struct vt_carried_tensor *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->occurrence != y->occurrence)
		return x->occurrence < y->occurrence ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static void add_found(const struct vt_carried_tensors *carried, uint32_t allocation,
		      vt_carried_vector *found)
{
	struct vt_carried_tensor one = describe(carried, allocation);

	for (size_t k = 0; k < found->len; k++)
		one.occurrence +=
			found->items[k].frame == one.frame && found->items[k].module == one.module;
	vt_vector_push(found, one);
}

void vt_carried_tensors_gather(const struct vt_carried_tensors *carried, uint32_t position,
			 vt_carried_vector *found)
{
	uint32_t pass = carried->order[position];
	vt_carried_vector between = { 0 };

	found->len = 0;
	gather_between(carried, position, &between);
	for (uint32_t i = carried->first[pass]; i < carried->first[pass + 1]; i++)
		if (vt_pass_has(&carried->passes->passes[pass], &carried->model->allocations[i]) &&
		    is_left(carried, position, &carried->model->allocations[i], &between))
			add_found(carried, i, found);
	vt_vector_sort(found, compare_carried);
	vt_vector_release(&between);
}

void vt_carried_tensors_returned(const struct vt_carried_tensors *carried, uint32_t position,
				 vt_carried_vector *found)
{
	uint32_t pass = carried->order[position];
	int64_t end = vt_carried_tensors_pass(carried, position)->end_event;

	found->len = 0;
	for (uint32_t i = carried->first[pass]; i < carried->first[pass + 1]; i++) {
		const struct vt_allocation *a = &carried->model->allocations[i];

		if (vt_pass_has(&carried->passes->passes[pass], a) && vt_allocation_is_owned(a) &&
		    a->freed_event >= end)
			add_found(carried, i, found);
	}
	vt_vector_sort(found, compare_carried);
}

static int is_copy(const struct vt_carried_tensor *one, const vt_carried_vector *original)
{
	for (size_t i = 0; i < original->len; i++)
		if (is_multiple(original->items[i].size_bytes, one->size_bytes))
			return 1;
	return 0;
}

void vt_carried_tensors_copies(const struct vt_carried_tensors *carried, uint32_t position,
			 const vt_carried_vector *original, vt_carried_vector *copies)
{
	vt_carried_vector between = { 0 };

	copies->len = 0;
	gather_between(carried, position, &between);
	for (size_t i = 0; i < between.len; i++) {
		unsigned nr = 0;

		if (!is_copy(&between.items[i], original))
			continue;
		for (size_t k = 0; k < between.len && nr < LEAST_COPIES; k++)
			nr += between.items[k].frame == between.items[i].frame &&
			      vt_carried_tensors_is_as_large(between.items[k].size_bytes,
						       between.items[i].size_bytes);
		if (nr >= LEAST_COPIES)
			vt_vector_push(copies, between.items[i]);
	}
	vt_vector_release(&between);
}
