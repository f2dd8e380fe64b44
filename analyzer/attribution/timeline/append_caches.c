/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/append_caches.h"

#define LEAST_CALLS 3
#define LEAST_LAYERS 2

/* A module that keeps something of each call so far. */
struct keeper {
	uint64_t module;
	uint32_t type;
	uint32_t nr_kept; /* blocks of this call */
	uint32_t nr_grown;
	uint64_t before_bytes; /* made in the call before */
	uint64_t bytes;        /* ... in this one */
};

typedef VT_VECTOR(struct keeper) keeper_vector;

static struct keeper *find_keeper(const keeper_vector *keepers, uint64_t module)
{
	for (size_t i = 0; i < keepers->len; i++)
		if (keepers->items[i].module == module)
			return &keepers->items[i];
	return NULL;
}

/* Alive when the module was called two times more. */
static int is_kept(const struct vt_carried_tensors *carried, uint32_t position,
		   const struct vt_allocation *a)
{
	const struct vt_pass *last = vt_carried_tensors_later(carried, position, 2);

	if (!last)
		last = vt_carried_tensors_later(carried, position, 1);
	return vt_allocation_is_owned(a) && !a->common->made->node_class &&
	       a->freed_event >= (last ? last->first_event
				       : vt_carried_tensors_pass(carried, position)->end_event);
}

/* The innermost module of a block of that call; 0: none, or it is the outermost. */
static struct vt_module_link inner_module(const struct vt_carried_tensors *carried,
					  uint32_t position, uint32_t allocation)
{
	static const struct vt_module_link none;
	const struct vt_allocation *a = &carried->model->allocations[allocation];
	uint32_t nr;
	const struct vt_module_link *links;

	if (!vt_pass_has(vt_carried_tensors_pass(carried, position), a))
		return none;
	links = vt_module_stacks_get(carried->module_stacks, a->common->made->python_stack, &nr);
	return nr && links[0].address != vt_carried_tensors_pass(carried, position)->module
		       ? links[0]
		       : none;
}

static void see(const struct vt_carried_tensors *carried, uint32_t position, uint32_t allocation,
		keeper_vector *keepers, int is_first)
{
	const struct vt_allocation *a = &carried->model->allocations[allocation];
	struct vt_module_link link = inner_module(carried, position, allocation);
	struct keeper fresh = { .module = link.address, .type = link.type };
	struct keeper *keeper;

	if (!link.address || !vt_allocation_is_owned(a))
		return;
	keeper = find_keeper(keepers, link.address);
	if (!keeper && is_first && is_kept(carried, position, a)) {
		vt_vector_push(keepers, fresh);
		keeper = &keepers->items[keepers->len - 1];
	}
	if (!keeper)
		return;
	keeper->nr_kept += (uint32_t)is_kept(carried, position, a);
	keeper->bytes += a->common->size_bytes;
}

/* One more call: only those that kept something again stay. */
static void follow(const struct vt_carried_tensors *carried, uint32_t position,
		   keeper_vector *keepers, int is_first)
{
	uint32_t pass = carried->order[position];
	size_t left = 0;

	for (size_t i = 0; i < keepers->len; i++) {
		keepers->items[i].before_bytes = keepers->items[i].bytes;
		keepers->items[i].bytes = keepers->items[i].nr_kept = 0;
	}
	/* What a module made before the first that it kept counts in every call or in none. */
	for (int is_second = !is_first; is_second < 2; is_second++) {
		for (size_t i = 0; i < keepers->len; i++)
			keepers->items[i].bytes = keepers->items[i].nr_kept = 0;
		for (uint32_t i = carried->first[pass]; i < carried->first[pass + 1]; i++)
			see(carried, position, i, keepers, !is_second);
	}
	for (size_t i = 0; i < keepers->len; i++) {
		struct keeper *keeper = &keepers->items[i];

		keeper->nr_grown += !is_first && keeper->bytes > keeper->before_bytes;
		if (keeper->nr_kept)
			keepers->items[left++] = *keeper;
	}
	keepers->len = left;
}

/* Sizes of large blocks vary by themselves (carried_tensors.h): nearly always is enough. */
static int is_growing(const struct keeper *keeper, uint32_t nr_steps)
{
	return keeper->nr_grown >= 2 && keeper->nr_grown * 4 >= nr_steps * 3;
}

/* Leaves only those that grow, and of which there are several of one class. */
static void keep_layers(keeper_vector *keepers, uint32_t nr_steps)
{
	keeper_vector growing = { 0 };
	size_t left = 0;

	for (size_t i = 0; i < keepers->len; i++)
		if (is_growing(&keepers->items[i], nr_steps))
			vt_vector_push(&growing, keepers->items[i]);
	for (size_t i = 0; i < growing.len; i++) {
		uint32_t nr = 0;

		for (size_t k = 0; k < growing.len; k++)
			nr += growing.items[k].type == growing.items[i].type;
		if (nr >= LEAST_LAYERS)
			keepers->items[left++] = growing.items[i];
	}
	keepers->len = left;
	vt_vector_release(&growing);
}

static void gather(const struct vt_carried_tensors *carried, uint32_t position,
		   const keeper_vector *keepers, vt_carried_vector *kept)
{
	uint32_t pass = carried->order[position];

	for (uint32_t i = carried->first[pass]; i < carried->first[pass + 1]; i++) {
		struct vt_module_link link = inner_module(carried, position, i);
		const struct vt_allocation *a = &carried->model->allocations[i];
		struct vt_carried_tensor one = { .module = link.address,
						 .type = link.type,
						 .allocation = i,
						 .size_bytes = a->common->size_bytes };

		if (link.address && find_keeper(keepers, link.address) &&
		    is_kept(carried, position, a))
			vt_vector_push(kept, one);
	}
}

uint32_t vt_append_caches_find_row(const struct vt_carried_tensors *carried, uint32_t position,
				   int has_prompt, vt_carried_vector *kept)
{
	uint64_t size = vt_carried_tensors_first_size(carried, position);
	uint32_t end = position + 1;
	keeper_vector keepers = { 0 };

	kept->len = 0;
	follow(carried, position, &keepers, 1);
	for (; keepers.len && vt_carried_tensors_later(carried, end - 1, 1) &&
	       !vt_carried_tensors_pass(carried, end)->has_autograd &&
	       vt_carried_tensors_first_size(carried, end) == size;
	     end++)
		follow(carried, end, &keepers, 0);
	keep_layers(&keepers, end - position - 1);
	if (end - position >= LEAST_CALLS)
		for (uint32_t i = position - (has_prompt ? 1 : 0); i < end; i++)
			gather(carried, i, &keepers, kept);
	vt_vector_release(&keepers);
	return end;
}
