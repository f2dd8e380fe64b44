/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/master_weights.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* Of the gradients, and of what the line made. */
#define LEAST_PERCENT 90
/* Fewer could be anything of twice the size. */
#define LEAST_BLOCKS 3
/* Of all weights: less is a scalar or a vector beside them. */
#define MOST_SHARDS 1024

/* Blocks that one line made, all as zeros or none. */
struct line {
	uint32_t python_stack;
	uint32_t first; /* in candidates.items */
	uint32_t nr;
	uint8_t is_zeros;
};

struct candidate {
	uint32_t python_stack;
	uint32_t allocation;
	uint8_t is_zeros;
};

struct search {
	struct vt_facts *facts;
	const struct vt_gradient_class *classes;
	uint32_t nr_classes;
	uint32_t *left; /* by class: gradients of a pass that have no counterpart yet */
	VT_VECTOR(struct candidate) candidates;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->python_stack != y->python_stack)
		return x->python_stack < y->python_stack ? -1 : 1;
	if (x->is_zeros != y->is_zeros)
		return x->is_zeros < y->is_zeros ? -1 : 1;
	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}

static void gather(struct search *search)
{
	const struct vt_facts *facts = search->facts;

	for (uint32_t i = 0; i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i];
		struct candidate one = { .python_stack = a->common->made->python_stack,
					 .allocation = i };
		uint32_t nr;

		vt_module_stacks_get(&facts->stages->module_stacks, a->common->made->python_stack,
				     &nr);
		if (!vt_allocation_is_owned(a) ||
		    a->common->size_bytes <= VT_SETTINGS_BLOCK_ROUNDING ||
		    a->common->made->node_class || a->common->freed->node_class ||
		    !a->common->made->python_stack || nr ||
		    a->freed_event <= facts->last_made_event)
			continue;
		one.is_zeros = (uint8_t)vt_parameter_containers_is_zeros(
			&facts->containers, a->common->made->native_stack);
		vt_vector_push(&search->candidates, one);
	}
	vt_vector_sort(&search->candidates, compare_candidates);
}

/* What a block may have been made for at least. */
static uint64_t least_bytes(uint64_t size_bytes)
{
	return size_bytes - (size_bytes > VT_SETTINGS_SMALL_MAX ? VT_SETTINGS_SMALL_MAX
								: VT_SETTINGS_BLOCK_ROUNDING - 1);
}

static int is_twice(uint64_t size_bytes, uint64_t gradient_bytes)
{
	return size_bytes >= 2 * least_bytes(gradient_bytes) &&
	       least_bytes(size_bytes) <= 2 * gradient_bytes;
}

static uint64_t distance(uint64_t x, uint64_t y)
{
	return x > y ? x - y : y - x;
}

/* Takes the gradient that comes nearest. */
static int has_gradient(struct search *search, const struct vt_allocation *a)
{
	const struct vt_gradient_class *classes = search->classes;
	uint32_t best = search->nr_classes;

	for (uint32_t k = 0; k < search->nr_classes; k++)
		if (search->left[k] && classes[k].device == a->common->device &&
		    is_twice(a->common->size_bytes, classes[k].size_bytes) &&
		    (best == search->nr_classes ||
		     distance(2 * classes[k].size_bytes, a->common->size_bytes) <
			     distance(2 * classes[best].size_bytes, a->common->size_bytes)))
			best = k;
	if (best == search->nr_classes)
		return 0;
	search->left[best]--;
	return 1;
}

/*
 * Whether a line made one for each gradient, and little else that lives.  Counted in blocks: what a
 * library kept for itself in the backward pass is as large as all gradients, but few.
 */
static int is_complete(struct search *search, const struct line *line)
{
	uint32_t all = 0, nr = 0;

	for (uint32_t k = 0; k < search->nr_classes; k++) {
		search->left[k] = search->classes[k].most;
		all += search->classes[k].most;
	}
	for (uint32_t i = 0; i < line->nr; i++) {
		uint32_t index = search->candidates.items[line->first + i].allocation;

		nr += (uint32_t)has_gradient(search, &search->facts->model->allocations[index]);
	}
	return nr >= LEAST_BLOCKS && nr * 100 >= all * LEAST_PERCENT &&
	       nr * 100 >= line->nr * LEAST_PERCENT;
}

static uint32_t first_of(const struct search *search, const struct line *line)
{
	return search->candidates.items[line->first].allocation;
}

static int is_before_gradients(const struct search *search, const struct line *line)
{
	uint32_t first = first_of(search, line);

	for (uint32_t k = 0; k < search->nr_classes; k++)
		if (search->facts->model->allocations[first].event >=
		    search->classes[k].first_event)
			return 0;
	return 1;
}

static void mark(struct search *search, const struct line *line, enum vt_functional_update what)
{
	for (uint32_t i = 0; i < line->nr; i++)
		search->facts
			->functional_updates[search->candidates.items[line->first + i].allocation] =
			(uint8_t)(what + 1);
}

static struct line line_at(const struct search *search, uint32_t first)
{
	const struct candidate *candidates = search->candidates.items;
	struct line line = { candidates[first].python_stack, first, 0, candidates[first].is_zeros };

	while (first + line.nr < search->candidates.len &&
	       candidates[first + line.nr].python_stack == line.python_stack &&
	       candidates[first + line.nr].is_zeros == line.is_zeros)
		line.nr++;
	return line;
}

void vt_master_weights_find(struct vt_facts *facts, const struct vt_gradient_class *classes,
		     uint32_t nr_classes)
{
	struct search search = { .facts = facts, .classes = classes, .nr_classes = nr_classes };
	struct line masters = { 0 };
	int has_state = 0;

	search.left = vt_xcalloc((size_t)nr_classes + 1, sizeof(*search.left));
	gather(&search);
	for (uint32_t i = 0; i < search.candidates.len;) {
		struct line line = line_at(&search, i);

		i += line.nr;
		if (!is_complete(&search, &line))
			continue;
		has_state |= line.is_zeros;
		if (line.is_zeros)
			mark(&search, &line, VT_UPDATE_STATE);
		else if (is_before_gradients(&search, &line) &&
			 (!masters.nr || first_of(&search, &line) < first_of(&search, &masters)))
			masters = line;
	}
	if (has_state && masters.nr)
		mark(&search, &masters, VT_UPDATE_MASTER);
	vt_vector_release(&search.candidates);
	free(search.left);
}

static int is_dtype(const struct vt_model *model, const struct vt_tensor *tensor, const char *dtype)
{
	const char *text = vt_model_text(model, tensor->dtype);

	return text && strcmp(text, dtype) == 0;
}

static int is_flat(const struct vt_model *model, const struct vt_tensor *row)
{
	const char *shape = vt_model_text(model, row->shape);
	uint64_t trained_bytes = 0;

	if (row->role != VT_ROLE_MASTER || !shape || strchr(shape, ',') ||
	    !is_dtype(model, row, "float32"))
		return 0;
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *one = &model->tensors[i];

		if (one->role != VT_ROLE_PARAMETER || !(one->flags & VT_TENSOR_REQUIRES_GRAD))
			continue;
		if (!is_dtype(model, one, "bfloat16") && !is_dtype(model, one, "float16"))
			return 0;
		trained_bytes += one->size_bytes;
	}
	return trained_bytes && row->size_bytes >= trained_bytes / MOST_SHARDS;
}

uint32_t vt_master_weights_flat(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_tensor *row = vt_facts_row(facts, a);

	return row && is_flat(facts->model, row) ? 1u << VT_THING_PARAMETER : 0;
}
