/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/gradients.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

/* A parameter that a probe saw. */
struct parameter {
	char *path;
	size_t module_len; /* of the path, how much is the module's */
	uint32_t tensor;
};

/* A block that may be a gradient, and the parameters of its module that have its size. */
struct candidate {
	uint64_t module;
	uint32_t allocation;
	uint32_t step;
	uint32_t first; /* index of the first such parameter */
	uint32_t nr;
};

struct search {
	struct vt_facts *facts;
	VT_VECTOR(struct parameter) parameters; /* by path of the module, then by path */
	VT_VECTOR(struct candidate) several;	/* with more than one parameter */
};

static int compare_modules(const char *x, size_t x_len, const char *y, size_t y_len)
{
	int order = memcmp(x, y, x_len < y_len ? x_len : y_len);

	return order ? order : x_len < y_len ? -1 : x_len > y_len;
}

static int compare_parameters(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	int order = compare_modules(x->path, x->module_len, y->path, y->module_len);

	if (!order)
		order = strcmp(x->path, y->path);
	return order ? order : x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* One entry per path: what was seen last. */
static void gather_parameters(struct search *search)
{
	const struct vt_model *model = search->facts->model;
	size_t kept = 0;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		struct parameter one = { NULL, 0, i };
		const char *dot;

		if (model->tensors[i].role != VT_ROLE_PARAMETER)
			continue;
		one.path = vt_names_tensor_path(&search->facts->names, &model->tensors[i]);
		dot = strrchr(one.path, '.');
		one.module_len = dot ? (size_t)(dot - one.path) : 0;
		vt_vector_push(&search->parameters, one);
	}
	vt_vector_sort(&search->parameters, compare_parameters);
	for (size_t i = 0; i < search->parameters.len; i++) {
		struct parameter *item = &search->parameters.items[i];

		if (kept && !strcmp(search->parameters.items[kept - 1].path, item->path)) {
			free(item->path);
			search->parameters.items[kept - 1].tensor = item->tensor;
		} else {
			search->parameters.items[kept++] = *item;
		}
	}
	search->parameters.len = kept;
}

/* Whether a tensor may have been asked for with a block (block_rounding.h). */
static int fits(uint64_t tensor_bytes, uint64_t block_bytes, int is_exact)
{
	const uint64_t rounded = vt_block_rounding_rounded(tensor_bytes);

	if (block_bytes == rounded)
		return 1;
	return !is_exact && rounded > VT_SETTINGS_SMALL_MAX && block_bytes > rounded &&
	       block_bytes - rounded <= VT_SETTINGS_SMALL_MAX;
}

/* What is looked for: a block, and how much smaller than a parameter it is. */
struct wanted {
	uint32_t allocation;
	uint32_t python_stack;
	unsigned divisor;
	int is_exact; /* a block with room to spare would fit too much else */
};

static uint32_t count_fitting(const struct search *search, size_t at, const char *module,
			      size_t len, const struct wanted *wanted, int is_exact,
			      uint32_t *first)
{
	uint64_t bytes = vt_block_rounding_block_bytes(
		&search->facts->model->allocations[wanted->allocation]);
	const struct vt_tensor *tensors = search->facts->model->tensors;
	uint32_t nr = 0;

	for (; at < search->parameters.len; at++) {
		const struct parameter *p = &search->parameters.items[at];

		if (compare_modules(p->path, p->module_len, module, len) != 0)
			break;
		if (!fits(tensors[p->tensor].size_bytes / wanted->divisor, bytes, is_exact))
			continue;
		if (!nr++)
			*first = (uint32_t)at;
	}
	return nr;
}

/* The parameters of one module that have the size of a block. */
static uint32_t find_fitting(const struct search *search, const char *module,
			     const struct wanted *wanted, uint32_t *first)
{
	const struct parameter *all = search->parameters.items;
	size_t len = strlen(module), low;
	uint32_t nr;

	low = vt_search_first(i, search->parameters.len,
			      compare_modules(all[i].path, all[i].module_len, module, len) < 0);
	nr = count_fitting(search, low, module, len, wanted, 1, first);
	if (nr || wanted->is_exact)
		return nr;
	return count_fitting(search, low, module, len, wanted, 0, first);
}

/* Made by a node, alive when the pass had ended, and not kept for another node. */
static int may_be_gradient(struct vt_facts *facts, const struct vt_allocation *a)
{
	const char *freed_by = vt_operators_class(&facts->operators, a->common->freed->node_class);

	if (!vt_allocation_is_owned(a) || !a->common->made->node_class ||
	    !a->common->made->forward_python_stack)
		return 0;
	if (freed_by && strncmp(freed_by, "AccumulateGrad", strlen("AccumulateGrad")) != 0)
		return 0;
	return (vt_facts_lifetimes(facts, a) & 1u << VT_LIFETIME_AFTER_BACKWARD) != 0;
}

/* The innermost module of the stack that has a parameter of that size decides. */
static struct candidate find_candidate(const struct search *search, const struct wanted *wanted)
{
	const struct vt_facts *facts = search->facts;
	const struct vt_allocation *a = &facts->model->allocations[wanted->allocation];
	const struct vt_span *span = vt_facts_span(facts, a);
	struct candidate found = { 0, wanted->allocation, span ? span->step : 0, 0, 0 };
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&facts->stages->module_stacks, wanted->python_stack, &nr);

	for (uint32_t i = 0; i < nr && !found.nr; i++) {
		const struct vt_torch_module *module = vt_names_module(
			&facts->names, links[i].address, links[i].type, a->event);
		char *path;

		if (!module)
			continue;
		path = vt_names_module_path(&facts->names, module);
		found.module = links[i].address;
		found.nr = find_fitting(search, path, wanted, &found.first);
		free(path);
	}
	return found;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}

/* The parameter whose gradient a probe saw in that block, index + 1; 0: none. */
static uint32_t seen_parameter(const struct search *search, const struct candidate *candidate)
{
	const struct vt_tensor *row = vt_names_find(
		&search->facts->names, candidate->allocation, 1u << VT_ROLE_GRADIENT);
	uint32_t found = 0;
	char *path;

	if (!row)
		return 0;
	path = vt_names_tensor_path(&search->facts->names, row);
	for (size_t i = candidate->first; i < search->parameters.len && !found; i++)
		if (!strcmp(search->parameters.items[i].path, path))
			found = search->parameters.items[i].tensor + 1;
	free(path);
	return found;
}

static int is_same_place(const struct candidate *x, const struct candidate *y)
{
	return x->module == y->module && x->first == y->first;
}

/* The end of the run of candidates of one place and one step. */
static size_t end_of_step(const struct search *search, size_t at)
{
	const struct candidate *all = search->several.items;
	size_t end = at;

	while (end < search->several.len && is_same_place(&all[end], &all[at]) &&
	       all[end].step == all[at].step)
		end++;
	return end;
}

static int is_seen_whole(const struct search *search, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		if (!seen_parameter(search, &search->several.items[i]))
			return 0;
	return 1;
}

/* Gives the names of a step that was seen to all steps of that place which made as many. */
static void name_by_order(struct search *search, size_t begin, size_t end)
{
	size_t known = end, known_end = end, step_end;

	for (size_t i = begin; i < end && known == end; i = step_end) {
		step_end = end_of_step(search, i);
		if (is_seen_whole(search, i, step_end)) {
			known = i;
			known_end = step_end;
		}
	}
	for (size_t i = begin; i < end; i = step_end) {
		step_end = end_of_step(search, i);
		if (step_end - i != known_end - known)
			continue;
		for (size_t k = 0; i + k < step_end; k++)
			vt_narrow_set(&search->facts->gradient_of,
				      search->several.items[i + k].allocation,
				      seen_parameter(search, &search->several.items[known + k]));
	}
}

static void name_several(struct search *search)
{
	size_t end;

	vt_vector_sort(&search->several, compare_candidates);
	for (size_t i = 0; i < search->several.len; i = end) {
		for (end = i; end < search->several.len; end++)
			if (!is_same_place(&search->several.items[i], &search->several.items[end]))
				break;
		name_by_order(search, i, end);
	}
}

static void find_by_nodes(struct search *search)
{
	struct vt_facts *facts = search->facts;

	for (uint32_t i = 0; i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i];
		const struct wanted wanted = { i, a->common->made->forward_python_stack, 1, 0 };
		struct candidate one;

		if (!may_be_gradient(facts, a))
			continue;
		one = find_candidate(search, &wanted);
		if (one.nr == 1)
			vt_narrow_set(&facts->gradient_of, i,
				      search->parameters.items[one.first].tensor + 1);
		else if (one.nr)
			vt_vector_push(&search->several, one);
	}
	name_several(search);
}

/* Below a node of the backward pass there are stacks of Python where a part runs again. */
static int is_cast(struct vt_facts *facts, const struct vt_allocation *a)
{
	const char *operation;

	if (!vt_allocation_is_owned(a) || !a->common->made->python_stack)
		return 0;
	operation = vt_operators_name(&facts->operators, a->common->made->native_stack);
	return operation && strcmp(operation, "_to_copy") == 0;
}

/* The neighbour (step 1 or -1) on the thread, where it is a cast at the same place; or NULL. */
static const struct vt_allocation *cast_beside(struct vt_facts *facts, uint32_t allocation,
					       int step)
{
	const struct vt_allocation *all = facts->model->allocations, *a = &all[allocation];

	for (uint32_t i = allocation + (uint32_t)step; i < facts->model->nr_allocations;
	     i += (uint32_t)step) {
		if (!vt_allocation_is_owned(&all[i]) ||
		    all[i].common->made->thread != a->common->made->thread)
			continue;
		if (all[i].common->made->python_stack != a->common->made->python_stack)
			return NULL;
		return is_cast(facts, &all[i]) ? &all[i] : NULL;
	}
	return NULL;
}

/* No gradient is asked of it: autocast does not cache its cast, and makes one in every call. */
static int is_frozen(const struct search *search, const struct candidate *candidate)
{
	const struct parameter *p = &search->parameters.items[candidate->first];

	return !(search->facts->model->tensors[p->tensor].flags & VT_TENSOR_REQUIRES_GRAD);
}

/*
 * Copies in half the bytes, made where the module that has the parameter ran.  The arguments of one
 * operator are cast from the last to the first (g++ evaluates them so; seen in the wheels of 2.11):
 * bias, weight, input.  So what another cast follows is a parameter's, while the last one may be
 * the input's, and must have exactly the parameter's size, or autograd did not record the cast.
 */
static void find_casts(struct search *search)
{
	struct vt_facts *facts = search->facts;

	for (uint32_t i = 0; i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i], *before;
		struct wanted wanted = { i, a->common->made->python_stack, 2, 1 };
		struct candidate one;
		int is_last;

		if (!is_cast(facts, a))
			continue;
		before = cast_beside(facts, i, -1);
		is_last = !cast_beside(facts, i, 1);
		wanted.is_exact = is_last && (!vt_block_rounding_can_have(facts->model, a) ||
					      vt_calls_is_numbered(&facts->stages->calls, i));
		if (wanted.is_exact && before &&
		    before->common->size_bytes == a->common->size_bytes)
			continue;
		one = find_candidate(search, &wanted);
		if (one.nr == 1 && (!is_last || wanted.is_exact || is_frozen(search, &one)))
			vt_narrow_set(&facts->cast_of, i,
				      search->parameters.items[one.first].tensor + 1);
	}
}

static struct vt_key place_of(const struct vt_allocation *a)
{
	struct vt_key key = { a->common->size_bytes, a->common->made->python_stack,
			      a->common->made->native_stack };

	return key;
}

/* Where a fused loss makes a gradient in its forward, it makes it in every step. */
static void find_by_place(struct search *search)
{
	struct vt_facts *facts = search->facts;
	struct vt_map places = { 0 };

	for (uint32_t i = 0; i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i];
		const struct candidate one = { .allocation = i };
		uint64_t parameter, *known;

		/* Few of the millions were seen. */
		parameter = seen_parameter(search, &one);
		if (!parameter || a->common->made->node_class || !a->common->made->python_stack)
			continue;
		known = vt_map_find(&places, place_of(a));
		/* Two parameters in turn at one place: which is which, is not known. */
		if (known)
			*known = *known == parameter ? parameter : 0;
		else
			vt_map_put(&places, place_of(a), parameter);
	}
	for (uint32_t i = 0; places.len && i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i];
		const uint64_t *parameter = vt_map_find(&places, place_of(a));

		if (parameter && !a->common->made->node_class)
			vt_narrow_set(&facts->gradient_of, i, (uint32_t)*parameter);
	}
	vt_map_release(&places);
}

void vt_gradients_find(struct vt_facts *facts)
{
	uint32_t nr = facts->model->nr_allocations;
	struct search search = { .facts = facts };

	vt_narrow_init(&facts->gradient_of, nr);
	vt_narrow_init(&facts->cast_of, nr);
	gather_parameters(&search);
	if (search.parameters.len) {
		find_by_nodes(&search);
		find_by_place(&search);
		find_casts(&search);
	}
	for (size_t i = 0; i < search.parameters.len; i++)
		free(search.parameters.items[i].path);
	vt_vector_release(&search.parameters);
	vt_vector_release(&search.several);
}
