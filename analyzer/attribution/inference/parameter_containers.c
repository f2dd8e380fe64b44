/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/parameter_containers.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

#define MAX_DIMENSIONS 4
/* Kernels of convolutions are no larger; the last sides of caches are. */
#define MAX_KERNEL 16
/* A vocabulary is longer than any inner side of a layer is wide. */
#define MIN_VOCABULARY 1000
#define MIN_ASPECT     4

struct leaf {
	char *fold;   /* "p.layers.*.wq" */
	size_t place; /* length of what stands before the number: "p.layers." */
	uint64_t sides[MAX_DIMENSIONS];
	unsigned nr_sides;
	uint32_t holder;
	uint32_t shape;
	uint32_t name;
	uint32_t allocation;
	uint8_t is_repeated;
};

typedef VT_VECTOR(struct leaf) leaf_vector;

struct search {
	struct vt_parameter_containers *trees;
	const struct vt_names *names;
	const struct vt_flow_kinds *flow;
	const struct vt_stages *stages;
	const struct vt_model *model;
	leaf_vector leaves;
};

/* Whether a native stack runs through an operator that fills with zeros. */
static int runs_through_zeros(const struct vt_frames *frames, uint32_t native_stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, native_stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const char *symbol = frames->native[ids[i]].symbol;

		if (symbol && (strstr(symbol, "at::_ops::zeros") ||
			       strstr(symbol, "at::_ops::new_zeros")))
			return 1;
	}
	return 0;
}

int vt_parameter_containers_is_zeros(const struct vt_parameter_containers *trees,
				     uint32_t native_stack)
{
	return native_stack < trees->nr_native_stacks && trees->is_zeros[native_stack];
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * "p.layers.11.wq" -> "p.layers.*.wq"; *place is where the first number stands, else 0.  A number
 * at the end of a path that has another is a field of a tuple: "p.layers.11.2" -> "p.layers.*.2".
 */
static char *fold_numbers(const char *name, size_t *place)
{
	char *fold = vt_xstrdup(name), *to = fold;

	const char *last = strrchr(name, '.');

	*place = 0;
	for (const char *at = name; *at; at++) {
		if (!is_digit(*at) || (*place && last && at > last)) {
			*to++ = *at;
			continue;
		}
		if (at == name || !is_digit(at[-1]))
			*to++ = '*';
		if (!*place && at != name && !is_digit(at[1]))
			*place = (size_t)(to - 1 - fold);
	}
	*to = 0;
	return fold;
}

static unsigned read_sides(const char *shape, uint64_t sides[MAX_DIMENSIONS])
{
	unsigned nr = 0;
	char *end;

	while (shape && *shape && nr < MAX_DIMENSIONS) {
		sides[nr++] = strtoull(shape, &end, 10);
		if (*end && *end != ',')
			return 0;
		shape = *end ? end + 1 : end;
	}
	return shape && *shape ? 0 : nr;
}

static int is_floating(const char *dtype)
{
	return dtype && (strncmp(dtype, "float", 5) == 0 || strncmp(dtype, "bfloat", 6) == 0);
}

static int is_loaded(const struct search *search, const struct vt_allocation *a)
{
	uint32_t span = vt_stages_span_at(search->stages, a->event);

	return span != VT_NO_INDEX && search->stages->spans[span].stage == VT_STAGE_LOAD;
}

static void add_leaf(struct search *search, uint32_t row)
{
	const struct vt_tensor *tensor = &search->model->tensors[row];
	uint32_t allocation = search->names->allocations[row];
	const char *name = vt_model_text(search->model, tensor->name);
	struct leaf leaf = { .holder = tensor->holder,
			     .shape = tensor->shape,
			     .name = tensor->name,
			     .allocation = allocation };
	const struct vt_allocation *a;

	if (tensor->role != VT_ROLE_VARIABLE || allocation == VT_NO_INDEX || !name ||
	    !is_floating(vt_model_text(search->model, tensor->dtype)))
		return;
	a = &search->model->allocations[allocation];
	leaf.nr_sides = read_sides(vt_model_text(search->model, tensor->shape), leaf.sides);
	if (!leaf.nr_sides || a->common->made->node_class || !is_loaded(search, a) ||
	    (leaf.nr_sides == 4 && (leaf.sides[2] > MAX_KERNEL || leaf.sides[3] > MAX_KERNEL)) ||
	    vt_parameter_containers_is_zeros(search->trees, a->common->made->native_stack))
		return;
	leaf.fold = fold_numbers(name, &leaf.place);
	vt_vector_push(&search->leaves, leaf);
}

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;
	int order;

	if (x->holder != y->holder)
		return x->holder < y->holder ? -1 : 1;
	order = strcmp(x->fold, y->fold);
	if (order)
		return order;
	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Marks matrices that other parts of the container have too. */
static void find_repeated(struct search *search)
{
	for (size_t i = 1; i < search->leaves.len; i++) {
		struct leaf *x = &search->leaves.items[i - 1], *y = &search->leaves.items[i];

		if (x->holder == y->holder && x->shape == y->shape && x->name != y->name &&
		    x->place && strcmp(x->fold, y->fold) == 0)
			x->is_repeated = y->is_repeated = 1;
	}
}

static int is_same_place(const struct leaf *x, const struct leaf *y)
{
	return x->holder == y->holder && x->place == y->place &&
	       strncmp(x->fold, y->fold, x->place) == 0;
}

/* Whether the parts have two different matrices at least. */
static int is_tree(const struct search *search, const struct leaf *leaf)
{
	if (!leaf->is_repeated || leaf->nr_sides < 2)
		return 0;
	for (size_t i = 0; i < search->leaves.len; i++) {
		const struct leaf *other = &search->leaves.items[i];

		if (other->is_repeated && other->nr_sides > 1 && is_same_place(leaf, other) &&
		    strcmp(leaf->fold, other->fold) != 0)
			return 1;
	}
	return 0;
}

/* The length of the path of the container's own container: of "p.layers." it is that of "p.". */
static size_t outer_place(const struct leaf *leaf)
{
	size_t len = leaf->place;

	while (len && leaf->fold[len - 1] != '.')
		len--;
	if (len < leaf->place || !len)
		return len; /* the number is part of a word: "block_0_wq" */
	len--;
	while (len && leaf->fold[len - 1] != '.')
		len--;
	return len ? len : leaf->place;
}

static int has_common_side(const struct leaf *x, const struct leaf *y)
{
	for (unsigned i = 0; i < x->nr_sides; i++)
		for (unsigned k = 0; k < y->nr_sides; k++)
			if (x->sides[i] == y->sides[k] && x->sides[i] > 1)
				return 1;
	return 0;
}

static int is_member(const struct leaf *leaf, const struct leaf *root)
{
	return leaf->holder == root->holder && leaf->nr_sides <= MAX_DIMENSIONS &&
	       strncmp(leaf->fold, root->fold, outer_place(root)) == 0 &&
	       has_common_side(leaf, root);
}

static int is_multiplied_by(const struct search *search, const struct leaf *root)
{
	for (size_t i = 0; i < search->leaves.len; i++) {
		const struct leaf *leaf = &search->leaves.items[i];

		if (leaf->is_repeated && is_member(leaf, root) &&
		    vt_flow_kinds_is_factor(search->flow, leaf->allocation))
			return 1;
	}
	return 0;
}

static void mark_members(struct search *search, const struct leaf *root)
{
	int is_factor = is_multiplied_by(search, root);

	for (size_t i = 0; i < search->leaves.len; i++) {
		const struct leaf *leaf = &search->leaves.items[i];

		if (!is_member(leaf, root))
			continue;
		search->trees->is_member[leaf->allocation] = 1;
		search->trees->is_factor[leaf->allocation] |= is_factor;
	}
}

/* Scores are made by a product with the vocabulary's matrix, of what has the hidden size. */
static void find_scores(struct search *search, const struct leaf *table)
{
	uint64_t vocabulary = table->sides[0] > table->sides[1] ? table->sides[0] : table->sides[1];
	uint64_t hidden = table->sides[0] > table->sides[1] ? table->sides[1] : table->sides[0];
	struct vt_map sizes = { 0 };

	if (vocabulary < MIN_VOCABULARY || vocabulary / hidden < MIN_ASPECT)
		return;
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		struct vt_key key = { vt_block_rounding_block_bytes(&search->model->allocations[i]),
				      0, 0 };

		vt_map_put(&sizes, key, 1);
	}
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];

		for (uint64_t width = 2; width <= 4; width += 2) {
			uint64_t tokens = a->common->size_bytes / (vocabulary * width);
			struct vt_key rows = { vt_block_rounding_rounded(tokens * hidden * width),
					       0, 0 };

			if (tokens && vt_allocation_is_owned(a) &&
			    vt_block_rounding_rounded(tokens * vocabulary * width) ==
				    vt_block_rounding_block_bytes(a) &&
			    vt_map_find(&sizes, rows))
				search->trees->is_score[i] = 1;
		}
	}
	vt_map_release(&sizes);
}

static void find_vocabulary(struct search *search)
{
	const struct leaf *largest = NULL;

	for (size_t i = 0; i < search->leaves.len; i++) {
		const struct leaf *leaf = &search->leaves.items[i];

		if (leaf->nr_sides == 2 && search->trees->is_member[leaf->allocation] &&
		    leaf->sides[0] && leaf->sides[1] && !leaf->is_repeated &&
		    (!largest || leaf->sides[0] * leaf->sides[1] >
					 largest->sides[0] * largest->sides[1]))
			largest = leaf;
	}
	if (largest)
		find_scores(search, largest);
}

void vt_parameter_containers_init(struct vt_parameter_containers *trees,
				  const struct vt_names *names, const struct vt_flow_kinds *flow,
				  const struct vt_stages *stages)
{
	struct search search = { .trees = trees,
				 .names = names,
				 .flow = flow,
				 .stages = stages,
				 .model = names->model };
	const struct leaf *last = NULL;

	trees->is_member = vt_xcalloc((size_t)names->model->nr_allocations + 1, 1);
	trees->is_factor = vt_xcalloc((size_t)names->model->nr_allocations + 1, 1);
	trees->is_score = vt_xcalloc((size_t)names->model->nr_allocations + 1, 1);
	trees->nr_native_stacks = names->model->frames.native_tree.nr_stacks;
	trees->is_zeros = vt_xcalloc((size_t)trees->nr_native_stacks + 1, 1);
	for (uint32_t i = 0; i < trees->nr_native_stacks; i++)
		trees->is_zeros[i] = (uint8_t)runs_through_zeros(&names->model->frames, i);
	/* Module trees have names of their own. */
	if (stages->evidence.has_forward)
		return;
	for (uint32_t i = 0; i < names->model->nr_tensors; i++)
		add_leaf(&search, i);
	vt_vector_sort(&search.leaves, compare_leaves);
	find_repeated(&search);
	for (size_t i = 0; i < search.leaves.len; i++) {
		const struct leaf *leaf = &search.leaves.items[i];

		/* Equal matrices of all parts stand behind each other. */
		if ((last && last->shape == leaf->shape && strcmp(last->fold, leaf->fold) == 0) ||
		    !is_tree(&search, leaf))
			continue;
		mark_members(&search, leaf);
		last = leaf;
	}
	find_vocabulary(&search);
	for (size_t i = 0; i < search.leaves.len; i++)
		free(search.leaves.items[i].fold);
	vt_vector_release(&search.leaves);
}

void vt_parameter_containers_release(struct vt_parameter_containers *trees)
{
	free(trees->is_member);
	free(trees->is_factor);
	free(trees->is_score);
	free(trees->is_zeros);
	memset(trees, 0, sizeof(*trees));
}
