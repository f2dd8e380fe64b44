/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/handovers.h"

#include <string.h>

#include "analyzer/attribution/rests.h"

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

static void order_passes(struct vt_handovers *handovers)
{
	const struct vt_passes *passes = handovers->passes;
	struct place *places = vt_xcalloc((size_t)passes->nr + 1, sizeof(*places));

	for (uint32_t i = 0; i < passes->nr; i++)
		places[i] = (struct place){ passes->passes[i].module, passes->passes[i].generation,
					    i };
	qsort(places, passes->nr, sizeof(*places), compare_places);
	handovers->nr = passes->nr;
	handovers->order = vt_xcalloc((size_t)passes->nr + 1, sizeof(*handovers->order));
	for (uint32_t i = 0; i < passes->nr; i++)
		handovers->order[i] = places[i].pass;
	free(places);
}

static void find_first_allocations(struct vt_handovers *handovers)
{
	const struct vt_passes *passes = handovers->passes;
	uint32_t next = 0;

	handovers->first = vt_xcalloc((size_t)passes->nr + 1, sizeof(*handovers->first));
	for (uint32_t i = 0; i < handovers->model->nr_allocations; i++) {
		uint32_t pass = passes->by_allocation[i];

		if (pass != VT_NO_INDEX)
			while (next <= pass)
				handovers->first[next++] = i;
	}
	while (next <= passes->nr)
		handovers->first[next++] = handovers->model->nr_allocations;
}

void vt_handovers_init(struct vt_handovers *handovers, const struct vt_passes *passes,
		       const struct vt_model *model, const struct vt_chains *chains)
{
	memset(handovers, 0, sizeof(*handovers));
	handovers->passes = passes;
	handovers->model = model;
	handovers->chains = chains;
	find_first_allocations(handovers);
	order_passes(handovers);
}

void vt_handovers_release(struct vt_handovers *handovers)
{
	free(handovers->first);
	free(handovers->order);
	memset(handovers, 0, sizeof(*handovers));
}

const struct vt_pass *vt_handovers_pass(const struct vt_handovers *handovers, uint32_t position)
{
	return &handovers->passes->passes[handovers->order[position]];
}

const struct vt_pass *vt_handovers_later(const struct vt_handovers *handovers, uint32_t position,
					 uint32_t calls)
{
	const struct vt_pass *pass = vt_handovers_pass(handovers, position), *found;

	if (position + calls >= handovers->nr)
		return NULL;
	found = vt_handovers_pass(handovers, position + calls);
	return found->module == pass->module && found->generation == pass->generation ? found
										      : NULL;
}

uint64_t vt_handovers_first_size(const struct vt_handovers *handovers, uint32_t position)
{
	uint32_t pass = handovers->order[position];

	for (uint32_t i = handovers->first[pass]; i < handovers->first[pass + 1]; i++)
		if (handovers->passes->by_allocation[i] == pass &&
		    vt_allocation_is_owned(&handovers->model->allocations[i]))
			return handovers->model->allocations[i].size_bytes;
	return 0;
}

int vt_handovers_is_as_large(uint64_t size_bytes, uint64_t other_bytes)
{
	uint64_t more = size_bytes > other_bytes ? size_bytes : other_bytes;
	uint64_t less = size_bytes > other_bytes ? other_bytes : size_bytes;

	return more == less || (less > VT_REST_MAX && more - less <= VT_REST_MAX);
}

/* Whether a copy holds the original one or several times. */
static int is_multiple(uint64_t size_bytes, uint64_t copy_bytes)
{
	uint64_t times = (copy_bytes + size_bytes / 2) / size_bytes;

	if (!times || times > MOST_MULTIPLE)
		return 0;
	return vt_handovers_is_as_large(times * size_bytes, copy_bytes);
}

/* Alive when the module is called again, gone when it is called once more. */
static int is_handed(const struct vt_handovers *handovers, uint32_t position,
		     const struct vt_allocation *a)
{
	const struct vt_pass *next = vt_handovers_later(handovers, position, 1);
	const struct vt_pass *after = vt_handovers_later(handovers, position, 2);
	int64_t end = vt_handovers_pass(handovers, position)->end_event;
	int64_t begin = next ? next->first_event : end;

	if (!vt_allocation_is_owned(a) || a->freed_event < begin)
		return 0;
	return !after || a->freed_event < after->first_event;
}

static struct vt_handover describe(const struct vt_handovers *handovers, uint32_t allocation)
{
	const struct vt_allocation *a = &handovers->model->allocations[allocation];
	uint32_t ids[VT_FRAMES_MAX], nr;
	const struct vt_chain_link *links =
		vt_chains_get(handovers->chains, a->made->python_stack, &nr);
	struct vt_handover one = { .module = nr ? links[0].address : 0,
				   .type = nr ? links[0].type : 0,
				   .allocation = allocation,
				   .size_bytes = a->size_bytes };

	if (vt_frames_python(&handovers->model->frames, a->made->python_stack, ids))
		one.frame = ids[0];
	return one;
}

/* What the program made between this call and the next of its module, in no call of any. */
static void gather_between(const struct vt_handovers *handovers, uint32_t position,
			   vt_handover_vector *found)
{
	const struct vt_pass *pass = vt_handovers_pass(handovers, position);
	uint32_t here = handovers->order[position], end = here + 1;

	if (vt_handovers_later(handovers, position, 1))
		end = handovers->order[position + 1];
	for (uint32_t i = handovers->first[here]; i < handovers->first[end]; i++) {
		const struct vt_allocation *a = &handovers->model->allocations[i];

		if (handovers->passes->by_allocation[i] == VT_NO_INDEX &&
		    vt_allocation_is_owned(a) && a->made->thread == pass->thread &&
		    a->made->python_stack && !a->made->node_class)
			vt_vector_push(found, describe(handovers, i));
	}
}

/*
 * Whether what replaces a block that died between two calls was handed over, be it the copy of a
 * copy.
 */
static int has_copies(const struct vt_handovers *handovers, uint32_t position,
		      const struct vt_allocation *a, const vt_handover_vector *between)
{
	unsigned nr = 0;

	for (size_t i = 0; i < between->len && nr < LEAST_COPIES; i++) {
		const struct vt_handover *copy = &between->items[i];
		const struct vt_allocation *c = &handovers->model->allocations[copy->allocation];

		nr += is_multiple(a->size_bytes, c->size_bytes) &&
		      is_handed(handovers, position, c);
	}
	return nr >= LEAST_COPIES;
}

static int is_left(const struct vt_handovers *handovers, uint32_t position,
		   const struct vt_allocation *a, const vt_handover_vector *between)
{
	const struct vt_pass *next = vt_handovers_later(handovers, position, 1);

	if (is_handed(handovers, position, a))
		return 1;
	return next && vt_allocation_is_owned(a) && a->freed_event < next->first_event &&
	       a->freed_event >= vt_handovers_pass(handovers, position)->end_event &&
	       has_copies(handovers, position, a, between);
}

int vt_handovers_is_same(const struct vt_handover *one, const struct vt_handover *other)
{
	return one->type == other->type && one->frame == other->frame &&
	       one->occurrence == other->occurrence;
}

static int compare_handovers(const void *a, const void *b)
{
	const struct vt_handover *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->occurrence != y->occurrence)
		return x->occurrence < y->occurrence ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

void vt_handovers_gather(const struct vt_handovers *handovers, uint32_t position,
			 vt_handover_vector *found)
{
	uint32_t pass = handovers->order[position];
	vt_handover_vector between = { 0 };

	found->len = 0;
	gather_between(handovers, position, &between);
	for (uint32_t i = handovers->first[pass]; i < handovers->first[pass + 1]; i++) {
		const struct vt_allocation *a = &handovers->model->allocations[i];
		struct vt_handover one;

		if (handovers->passes->by_allocation[i] != pass ||
		    !is_left(handovers, position, a, &between))
			continue;
		one = describe(handovers, i);
		for (size_t k = 0; k < found->len; k++)
			one.occurrence += found->items[k].frame == one.frame &&
					  found->items[k].module == one.module;
		vt_vector_push(found, one);
	}
	if (found->len)
		qsort(found->items, found->len, sizeof(*found->items), compare_handovers);
	vt_vector_release(&between);
}

static int is_copy(const struct vt_handover *one, const vt_handover_vector *original)
{
	for (size_t i = 0; i < original->len; i++)
		if (is_multiple(original->items[i].size_bytes, one->size_bytes))
			return 1;
	return 0;
}

void vt_handovers_copies(const struct vt_handovers *handovers, uint32_t position,
			 const vt_handover_vector *original, vt_handover_vector *copies)
{
	vt_handover_vector between = { 0 };

	copies->len = 0;
	gather_between(handovers, position, &between);
	for (size_t i = 0; i < between.len; i++) {
		unsigned nr = 0;

		if (!is_copy(&between.items[i], original))
			continue;
		for (size_t k = 0; k < between.len && nr < LEAST_COPIES; k++)
			nr += between.items[k].frame == between.items[i].frame &&
			      vt_handovers_is_as_large(between.items[k].size_bytes,
						       between.items[i].size_bytes);
		if (nr >= LEAST_COPIES)
			vt_vector_push(copies, between.items[i]);
	}
	vt_vector_release(&between);
}
