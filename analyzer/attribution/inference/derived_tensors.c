/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/derived_tensors.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/util.h"

/* Smaller ones are of equal size by chance; a row of scores of a vocabulary is larger. */
#define SMALLEST_BYTES (16u << 10)
/* A model returns few things, and what becomes of them is looked for among the last ones. */
#define RESULTS_MAX 64
/* Tokens, of which one may be left out. */
#define SHORTEST_ROW 8
/* Beams, or answers to one prompt. */
#define REPEATS_MAX 64
/* Pieces are made shortly before they are put together: a rollout, an epoch of batches. */
#define PIECES_MAX 8192
#define PLACES_MAX 8

/* Something that is alive behind the call that made it, or was made of such a thing. */
struct result {
	uint32_t allocation;
	uint8_t is_logits;
	uint8_t is_sampled; /* ... made of them by a module that samples */
};

struct search {
	struct vt_facts *facts;
	const struct vt_model *model;
	VT_VECTOR(struct result) results; /* of the last pass */
	VT_VECTOR(uint32_t) data; /* what was brought to the device, or made of that */
	uint8_t *has_product;     /* by pass: a matrix product was among what it made */
	uint8_t *operators;       /* by native stack: enum operator_trait, 0: not looked up yet */
	uint32_t pass;
};

/* What rules say of an operator, so that its name is matched once. */
enum operator_trait {
	LOOKED_UP = 1,
	NAMED = 2,
	PRODUCT = 4,
	COPY = 8,
	JOIN = 16,
	PLUMBING = 32,
	DATA = 64,
};

static uint8_t look_up(const struct search *search, const char *name)
{
	const struct vt_rules *rules = search->facts->rules;

	if (!name)
		return LOOKED_UP;
	return (uint8_t)(LOOKED_UP | NAMED |
			 (vt_globs_match(&rules->product.op, name) ? PRODUCT : 0) |
			 (vt_globs_match(&rules->copy, name) ? COPY : 0) |
			 (vt_globs_match(&rules->join, name) ? JOIN : 0) |
			 (vt_globs_match(&rules->plumbing, name) ? PLUMBING : 0) |
			 (vt_globs_match(&rules->data, name) ? DATA : 0));
}

static int is_made_by(const struct search *search, const struct vt_allocation *a,
		      enum operator_trait what)
{
	uint32_t stack = a->common->made->native_stack;
	uint8_t *known;

	if (stack >= search->model->frames.native_tree.nr_stacks)
		return 0;
	known = &search->operators[stack];
	if (!*known)
		*known = look_up(search, vt_operators_name(&search->facts->operators, stack));
	return (*known & what) != 0;
}

static int is_head(const struct search *search, const struct vt_allocation *a)
{
	return vt_facts_heads(search->facts, a) && is_made_by(search, a, PRODUCT);
}

/* In a call that autograd records whatever it saves stays alive, the head's output as well. */
static int is_result(const struct vt_allocation *a, const struct vt_pass *pass)
{
	return a->freed_event >= pass->end_event && !pass->has_autograd;
}

/* Whether `times` / `parts` of what was asked for in `x` can be what was asked for in `y`. */
static int is_multiple(const struct vt_model *model, const struct vt_allocation *x,
		       uint64_t times, uint64_t parts, const struct vt_allocation *y)
{
	return vt_block_rounding_least(model, x) * times <= y->common->size_bytes * parts &&
	       vt_block_rounding_least(model, y) * parts <= x->common->size_bytes * times;
}

static int is_cast(const struct vt_model *model, const struct vt_allocation *x,
		   const struct vt_allocation *y)
{
	return is_multiple(model, x, 1, 1, y) || is_multiple(model, x, 2, 1, y) ||
	       is_multiple(model, x, 1, 2, y);
}

static int is_most_of(uint64_t whole, uint64_t part)
{
	return part < whole && part >= whole - whole / SHORTEST_ROW;
}

/*
 * Operators show that it is of another part of a network, or that it is made of none of the scores
 * that they showed, whatever has the size of these.
 */
static int is_of_other_part(const struct search *search, const struct vt_allocation *scores,
			    const struct vt_allocation *a)
{
	const struct vt_flow_kinds *flow = &search->facts->flow;
	enum vt_flow_label label = vt_flow_kinds_find(flow, a);

	if (label == VT_FLOW_LOGITS || label == VT_FLOW_LAST_MLP)
		return 0;
	return label != VT_FLOW_NONE || (vt_flow_kinds_knows_heads(flow, a) &&
					 vt_flow_kinds_find(flow, scores) == VT_FLOW_LOGITS);
}

/* Scores go through all sorts of operators; of anything else only copies are told by their size. */
static int is_made_of(struct search *search, const struct result *result,
		      const struct vt_allocation *y)
{
	const struct vt_allocation *x = &search->model->allocations[result->allocation];
	uint64_t times =
		(y->common->size_bytes + x->common->size_bytes / 2) / x->common->size_bytes;
	int is_same = is_cast(search->model, x, y);

	if (x->common->device != y->common->device || !vt_allocation_is_live(x, y->event) ||
	    (result->is_logits && is_of_other_part(search, x, y)))
		return 0;
	if (!is_made_by(search, y, COPY))
		return result->is_logits && is_same;
	/* Without the last token of each row, which has no label. */
	if (result->is_logits && (is_most_of(x->common->size_bytes, y->common->size_bytes) ||
				  is_most_of(2 * x->common->size_bytes, y->common->size_bytes)))
		return 1;
	return is_same || (times >= 2 && times <= REPEATS_MAX &&
			   is_multiple(search->model, x, times, 1, y));
}

/* What is likeliest the last result that is alive and has its size; NULL: none. */
static const struct result *find_result(struct search *search, const struct vt_allocation *a)
{
	size_t nr = search->results.len;

	for (size_t k = 0; k < nr && k < RESULTS_MAX; k++) {
		const struct result *one = &search->results.items[nr - 1 - k];

		if (is_made_of(search, one, a))
			return one;
	}
	return NULL;
}

/*
 * Before a model returns what its head made it is cast, scaled or capped; where autograd records
 * the call, its numbers say more than the size of anything but a copy.
 */
static int is_made_of_logits(struct search *search, const struct vt_allocation *a,
			     const struct vt_pass *pass)
{
	const struct result *found = find_result(search, a);

	if (!found || !found->is_logits || !is_made_by(search, a, NAMED) ||
	    is_made_by(search, a, PRODUCT))
		return 0;
	return (!pass->has_autograd || is_made_by(search, a, COPY)) &&
	       is_cast(search->model, &search->model->allocations[found->allocation], a);
}

/* Bytes of what a model returned as scores last, while any are alive; 0: none. */
static uint64_t find_scores(const struct search *search, const struct vt_allocation *then)
{
	uint64_t bytes = 0;
	int is_any_live = 0;
	size_t nr = search->results.len;

	for (size_t k = 0; k < nr && k < RESULTS_MAX; k++) {
		const struct result *one = &search->results.items[nr - 1 - k];
		const struct vt_allocation *x = &search->model->allocations[one->allocation];

		if (!one->is_logits || x->common->device != then->common->device)
			continue;
		is_any_live |= vt_allocation_is_live(x, then->event);
		if (!bytes && !one->is_sampled)
			bytes = x->common->size_bytes;
	}
	return is_any_live ? bytes : 0;
}

/*
 * A module without a matrix product that is called with scores samples or judges them: what is as
 * large is made of them, also what its operators need until they end.  Returns whether it is one.
 */
static int see_in_sampler(struct search *search, uint32_t index)
{
	const struct vt_allocation *a = &search->model->allocations[index];
	uint64_t scores_bytes = find_scores(search, a);
	struct result one = { index, 1, 1 };

	if (!scores_bytes)
		return 0;
	if (a->common->size_bytes < SMALLEST_BYTES || a->common->size_bytes * 2 < scores_bytes)
		return 1;
	search->facts->derived[index] = VT_SOURCE_LOGITS + 1;
	vt_vector_push(&search->results, one);
	return 1;
}

static void see_in_pass(struct search *search, uint32_t index, uint32_t pass)
{
	const struct vt_allocation *a = &search->model->allocations[index];
	const struct vt_pass *whole = &search->facts->stages->passes.passes[pass];
	struct result one = { index, (uint8_t)is_head(search, a), 0 };

	if (!search->has_product[pass] && !whole->has_autograd && see_in_sampler(search, index))
		return;
	if (pass != search->pass)
		search->results.len = 0;
	search->pass = pass;
	if (a->common->size_bytes < SMALLEST_BYTES)
		return;
	if (!one.is_logits && is_made_of_logits(search, a, whole)) {
		one.is_logits = 1;
		search->facts->derived[index] = VT_SOURCE_LOGITS + 1;
	}
	if (one.is_logits || is_result(a, whole))
		vt_vector_push(&search->results, one);
}

static int is_piece(const struct search *search, uint32_t index, const struct vt_allocation *whole)
{
	const struct vt_allocation *a = &search->model->allocations[index];
	const struct vt_passes *passes = &search->facts->stages->passes;

	return vt_allocation_is_owned(a) && a->common->device == whole->common->device &&
	       a->common->made->python_stack && !a->common->made->node_class &&
	       vt_passes_find(passes, a) == VT_NO_INDEX && vt_allocation_is_live(a, whole->event);
}

/* How many live pieces of that place and size there are. */
static uint64_t count_pieces(const struct search *search, uint32_t piece, uint32_t whole)
{
	const struct vt_allocation *all = search->model->allocations, *p = &all[piece];
	uint64_t nr = 0;

	for (uint32_t i = whole; i-- > 0 && whole - i <= PIECES_MAX;)
		nr += all[i].common->made->python_stack == p->common->made->python_stack &&
		      all[i].common->made->native_stack == p->common->made->native_stack &&
		      all[i].common->size_bytes == p->common->size_bytes &&
		      is_piece(search, i, &all[whole]);
	return nr;
}

/* Copied to the device, made up there, or made of such a thing. */
static int is_piece_of_data(struct search *search, uint32_t index)
{
	return is_made_by(search, &search->model->allocations[index], DATA) ||
	       search->facts->derived[index] == VT_SOURCE_DATA + 1;
}

/* Whether it was put together from pieces that are data. */
static int is_of_data(struct search *search, uint32_t index)
{
	const struct vt_allocation *all = search->model->allocations, *a = &all[index];
	uint32_t tried = 0, last = 0;

	if (!is_made_by(search, a, JOIN))
		return 0;
	for (uint32_t i = index; i-- > 0 && index - i <= PIECES_MAX && tried < PLACES_MAX;) {
		uint64_t bytes = all[i].common->size_bytes;
		uint64_t nr = bytes ? a->common->size_bytes / bytes : 0;

		if (nr < 2 || !is_multiple(search->model, &all[i], nr, 1, a) ||
		    (tried && all[i].common->made->python_stack == last) || !is_piece(search, i, a))
			continue;
		last = all[i].common->made->python_stack;
		tried++;
		if (is_piece_of_data(search, i) && count_pieces(search, i, index) == nr)
			return 1;
	}
	return 0;
}

/*
 * Brought to the device, or made up there, outside of any forward: by no module, or by a method
 * that prepares a batch.  What modules make while they are loaded is theirs.
 */
static int is_data(struct search *search, const struct vt_allocation *a)
{
	const struct vt_stages *stages = search->facts->stages;
	uint32_t nr, span;

	if (!is_made_by(search, a, DATA))
		return 0;
	vt_module_stacks_get(&stages->module_stacks, a->common->made->python_stack, &nr);
	span = nr ? vt_stages_span_at(stages, a->event) : VT_NO_INDEX;
	return !nr || (span != VT_NO_INDEX && stages->spans[span].stage != VT_STAGE_LOAD);
}

/* Scaled, mixed, moved by noise: with the elements of data that is there. */
static int is_made_of_data(struct search *search, const struct vt_allocation *a)
{
	size_t nr = search->data.len;

	if (!is_made_by(search, a, NAMED) ||
	    (is_made_by(search, a, PLUMBING) && !is_made_by(search, a, COPY)))
		return 0;
	for (size_t k = 0; k < nr && k < RESULTS_MAX; k++) {
		const struct vt_allocation *x =
			&search->model->allocations[search->data.items[nr - 1 - k]];

		if (x->common->device == a->common->device && vt_allocation_is_live(x, a->event) &&
		    is_cast(search->model, x, a))
			return 1;
	}
	return 0;
}

static void see_outside(struct search *search, uint32_t index)
{
	const struct vt_allocation *a = &search->model->allocations[index];
	uint8_t *source = &search->facts->derived[index];
	const struct result *found;

	if (a->common->size_bytes < SMALLEST_BYTES || !a->common->made->python_stack)
		return;
	found = find_result(search, a);
	if (found) {
		struct result one = { index, found->is_logits, found->is_sampled };

		*source = (found->is_logits ? VT_SOURCE_LOGITS : VT_SOURCE_RESULT) + 1;
		vt_vector_push(&search->results, one);
	} else if (is_of_data(search, index)) {
		*source = VT_SOURCE_PIECES + 1;
	} else if (vt_flow_kinds_is_of_layer(&search->facts->flow, a)) {
		*source = VT_SOURCE_LAYERS + 1;
	} else if (is_made_of_data(search, a)) {
		*source = VT_SOURCE_DATA + 1;
	}
	if (*source >= VT_SOURCE_DATA + 1 || (!*source && is_data(search, a)))
		vt_vector_push(&search->data, index);
}

static void find_products(struct search *search, const struct vt_passes *passes)
{
	search->has_product = vt_xcalloc((size_t)passes->nr + 1, 1);
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		uint32_t pass;

		if (!vt_allocation_is_owned(a) || !is_made_by(search, a, PRODUCT))
			continue;
		pass = vt_passes_find(passes, a);
		if (pass != VT_NO_INDEX)
			search->has_product[pass] = 1;
	}
}

void vt_derived_tensors_find(struct vt_facts *facts)
{
	struct search search = { .facts = facts, .model = facts->model, .pass = VT_NO_INDEX };
	const struct vt_passes *passes = &facts->stages->passes;

	facts->derived = vt_xcalloc((size_t)facts->model->nr_allocations + 1, 1);
	search.operators = vt_xcalloc((size_t)facts->model->frames.native_tree.nr_stacks + 1, 1);
	find_products(&search, passes);
	for (uint32_t i = 0; i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i];
		uint32_t pass;

		/* A backward pass consumes what the model returned. */
		if (a->common->made->node_class)
			search.results.len = 0;
		if (a->common->made->node_class || !vt_allocation_is_owned(a))
			continue;
		pass = vt_passes_find(passes, a);
		if (pass != VT_NO_INDEX)
			see_in_pass(&search, i, pass);
		else
			see_outside(&search, i);
	}
	vt_vector_release(&search.results);
	vt_vector_release(&search.data);
	free(search.has_product);
	free(search.operators);
}
