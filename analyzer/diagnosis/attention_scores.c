/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/attention_scores.h"

#include "analyzer/attribution/calls/operator_classes.h"
#include "analyzer/base/map.h"

/* Blocks between the two products of one attention: scales, masks, biases, casts, dropouts. */
#define CHAIN_MAX 16

struct search {
	const struct vt_finding_context *context;
	const struct vt_operator_calls *calls;
	uint32_t *first;     /* by allocation: in `of`; the next entry ends it */
	uint32_t *of;        /* calls of forwards, or of backward passes, that read or wrote it */
	struct vt_map nodes; /* sequence numbers of their autograd nodes */
	struct vt_map places;
	uint8_t *is_scores; /* by allocation */
};

static enum vt_operator_class class_of(const struct search *search, uint32_t call)
{
	const char *name = vt_model_text(search->context->model, search->calls->items[call].name);

	return vt_operator_class(name ? name : "");
}

static void index_calls(struct search *search, int in_backward)
{
	const struct vt_operator_calls *calls = search->calls;
	uint32_t nr = search->context->model->nr_allocations;

	search->first = vt_xcalloc((size_t)nr + 2, sizeof(*search->first));
	search->of = vt_xcalloc((size_t)calls->nr_tensors + 1, sizeof(*search->of));
	for (int is_counted = 0; is_counted < 2; is_counted++) {
		for (uint32_t c = 0; c < calls->nr; c++) {
			const struct vt_operator_call *call = &calls->items[c];

			for (uint32_t t = 0; t < call->nr_tensors; t++) {
				uint32_t i = calls->tensors[call->first_tensor + t].allocation;

				if (i == VT_NO_INDEX || (call->node_class != 0) != in_backward)
					continue;
				if (is_counted)
					search->of[search->first[i]++] = c;
				else
					search->first[i + 1]++;
			}
		}
		for (uint32_t i = 0; i < nr && !is_counted; i++)
			search->first[i + 1] += search->first[i];
	}
	/* Each was moved to its end, where the next begins. */
	for (uint32_t i = nr + 1; i > 0; i--)
		search->first[i] = search->first[i - 1];
	search->first[0] = 0;
}

static void release_calls(struct search *search)
{
	free(search->first);
	free(search->of);
}

/* The same numbers in as many, half or twice the bits. */
static int is_alike(const struct search *search, uint32_t i, uint32_t k)
{
	uint64_t a = vt_allocation_asked_bytes(&search->context->model->allocations[i]);
	uint64_t b = vt_allocation_asked_bytes(&search->context->model->allocations[k]);

	return a == b || a == 2 * b || 2 * a == b;
}

static int is_by_element(enum vt_operator_class class)
{
	switch (class) {
	case VT_OPERATOR_VIEW:
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_CAST:
	case VT_OPERATOR_DROPOUT:
	case VT_OPERATOR_ADD:
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_SOFTMAX:
	case VT_OPERATOR_OTHER: /* masks */
		return 1;
	default:
		return 0;
	}
}

struct chain {
	uint32_t items[CHAIN_MAX];
	unsigned nr;
	int has_product; /* of which the first scores came */
};

static void extend(const struct search *search, struct chain *chain, uint32_t call)
{
	const struct vt_operator_call *c = &search->calls->items[call];

	for (uint32_t t = 0; t < c->nr_tensors; t++) {
		uint32_t i = search->calls->tensors[c->first_tensor + t].allocation;
		int is_new = i != VT_NO_INDEX && is_alike(search, i, chain->items[0]);

		for (unsigned k = 0; k < chain->nr && is_new; k++)
			is_new = chain->items[k] != i;
		if (is_new && chain->nr < CHAIN_MAX)
			chain->items[chain->nr++] = i;
	}
}

static int writes(const struct search *search, uint32_t call, uint32_t allocation)
{
	const struct vt_operator_call *c = &search->calls->items[call];

	for (uint32_t t = 0; t < c->nr_tensors; t++)
		if (search->calls->tensors[c->first_tensor + t].is_output &&
		    search->calls->tensors[c->first_tensor + t].allocation == allocation)
			return 1;
	return 0;
}

static void follow(const struct search *search, struct chain *chain)
{
	for (unsigned k = 0; k < chain->nr; k++) {
		uint32_t i = chain->items[k];

		for (uint32_t n = search->first[i]; n < search->first[i + 1]; n++) {
			enum vt_operator_class class = class_of(search, search->of[n]);

			if (is_by_element(class))
				extend(search, chain, search->of[n]);
			else if (class == VT_OPERATOR_PRODUCT && writes(search, search->of[n], i))
				chain->has_product = 1;
		}
	}
}

/* Not the native stack, which has frames of the observer while that is on. */
static struct vt_key place_of(const struct vt_allocation *a)
{
	const struct vt_caller *made = a->common->made;
	uint32_t stack = made->node_class ? made->forward_python_stack : made->python_stack;

	return (struct vt_key){ stack, made->node_class, vt_allocation_asked_bytes(a) };
}

static void mark(struct search *search, const struct chain *chain)
{
	const struct vt_allocation *all = search->context->model->allocations;

	for (unsigned k = 0; k < chain->nr; k++) {
		uint32_t i = chain->items[k];
		uint64_t asked = vt_allocation_asked_bytes(&all[i]);

		vt_map_put(&search->places, place_of(&all[i]), 1);
		for (uint32_t n = search->first[i]; n < search->first[i + 1]; n++) {
			uint64_t sequence = search->calls->items[search->of[n]].sequence;

			if (sequence != VT_NO_SEQUENCE)
				vt_map_put(&search->nodes,
					   (struct vt_key){ sequence, asked, 0 }, 1);
		}
	}
}

/* Of a softmax that attention made, all up to the products before and behind it. */
static void find_chains(struct search *search)
{
	for (uint32_t c = 0; c < search->calls->nr; c++) {
		const struct vt_operator_call *call = &search->calls->items[c];
		struct chain chain = { .nr = 0 };

		if (call->node_class || class_of(search, c) != VT_OPERATOR_SOFTMAX)
			continue;
		for (uint32_t t = 0; t < call->nr_tensors && !chain.nr; t++) {
			const struct vt_call_tensor *tensor =
				&search->calls->tensors[call->first_tensor + t];

			if (tensor->is_output && tensor->allocation != VT_NO_INDEX &&
			    vt_finding_context_is_owner(search->context, tensor->allocation,
							VT_OWNERS_ATTENTION))
				chain.items[chain.nr++] = tensor->allocation;
		}
		follow(search, &chain);
		if (chain.has_product)
			mark(search, &chain);
	}
}

/* Whether a node of what was found made it, in the same numbers. */
static int is_by_node(const struct search *search, const struct vt_allocation *a)
{
	uint64_t asked = vt_allocation_asked_bytes(a);

	for (int shift = -1; shift < 2 && a->common->made->node_class; shift++) {
		uint64_t bytes = shift < 0 ? asked / 2 : asked << shift;

		if (vt_map_find(&search->nodes, (struct vt_key){ a->node_sequence, bytes, 0 }))
			return 1;
	}
	return 0;
}

/*
 * The gradients of what was found, of which the places are those of other steps, and what the
 * backward pass makes of them by element: operators in place have nodes of their own.
 */
static void find_gradients(struct search *search)
{
	const struct vt_allocation *all = search->context->model->allocations;

	index_calls(search, 1);
	for (uint32_t i = 0; i < search->context->model->nr_allocations; i++) {
		struct chain chain = { .items = { i }, .nr = 1 };

		if (!is_by_node(search, &all[i]))
			continue;
		follow(search, &chain);
		for (unsigned k = 0; k < chain.nr; k++)
			if (all[chain.items[k]].common->made->node_class)
				vt_map_put(&search->places, place_of(&all[chain.items[k]]), 1);
	}
	release_calls(search);
}

static int is_scores(const struct search *search, uint32_t i)
{
	const struct vt_finding_context *context = search->context;
	const struct vt_allocation *a = &context->model->allocations[i];

	int is_attention = vt_finding_context_is_owner(context, i, VT_OWNERS_ATTENTION);

	if (a->common->device != context->device || !vt_allocation_is_owned(a))
		return 0;
	if (vt_map_find(&search->places, place_of(a)))
		return is_attention || a->common->made->node_class;
	return !search->calls->nr &&
	       vt_facts_shape_classes(context->facts, a) == 1u << VT_SHAPE_SCORES &&
	       (is_attention ||
		vt_finding_context_is_owner(context, i, VT_OWNERS_ACTIVATION_GRADIENTS));
}

uint8_t *vt_attention_scores_find(const struct vt_finding_context *context)
{
	const struct vt_model *model = context->model;
	struct search search = { .context = context, .calls = &model->calls };

	search.is_scores = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	index_calls(&search, 0);
	find_chains(&search);
	release_calls(&search);
	find_gradients(&search);
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		search.is_scores[i] = (uint8_t)is_scores(&search, i);
	vt_map_release(&search.nodes);
	vt_map_release(&search.places);
	return search.is_scores;
}
