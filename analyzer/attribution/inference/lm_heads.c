/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/lm_heads.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/*
 * Operators between the head and its loss: casts, shifts, views, log-softmax.  transformers' loss
 * functions need about ten; a product further away than this is not the head of that loss.
 */
#define MAX_STRETCH 64

struct sighting {
	uint64_t sequence;
	int64_t event; /* of an operator; else VT_NEVER */
	uint32_t step;
	uint8_t is_loss;
	uint8_t how; /* enum vt_lm_head */
};

struct search {
	const struct vt_stages *stages;
	const struct vt_model *model;
	const struct vt_rules *rules;
	struct vt_operators *operators;
	VT_VECTOR(struct sighting) seen;
	uint8_t *node_parts;     /* by class: enum part */
	uint8_t *operator_parts; /* by native stack: enum part */
};

/* What an operation may be on the way from hidden states to a loss; KNOWN: that was looked up. */
enum part { PRODUCT = 1, NORMALISER = 2, LOSS = 4, KNOWN = 8 };

static void see(struct search *search, int64_t event, uint64_t sequence, int is_loss,
		enum vt_lm_head how)
{
	uint32_t span = vt_stages_span_at(search->stages, event);
	struct sighting s = { sequence, how == VT_HEAD_FRAMES ? event : VT_NEVER, 0,
			      (uint8_t)is_loss, (uint8_t)how };

	if (sequence == VT_NO_SEQUENCE || span == VT_NO_INDEX)
		return;
	s.step = search->stages->spans[span].step;
	vt_vector_push(&search->seen, s);
}

/* Not in a part of a model, where a normalisation may be one of attention, or of a router. */
static int is_programs_own(const struct search *search, uint32_t python_stack)
{
	uint32_t nr;

	vt_module_stacks_get(&search->stages->module_stacks, python_stack, &nr);
	return nr <= 1;
}

static uint8_t parts_of(const char *name, int is_loss, const struct vt_globs *normaliser,
			const struct vt_globs *product)
{
	return (uint8_t)(KNOWN | (is_loss ? LOSS : 0) |
			 (vt_globs_match(normaliser, name) ? NORMALISER : 0) |
			 (vt_globs_match(product, name) ? PRODUCT : 0));
}

static uint8_t parts_of_node(struct search *search, uint32_t node)
{
	const struct vt_rules *rules = search->rules;
	const char *name = vt_operators_class(search->operators, node);

	return name ? parts_of(name, vt_globs_match(&rules->loss.node, name),
			       &rules->normaliser.node, &rules->product.node)
		    : KNOWN;
}

/* A loss over a vocabulary works by smaller operators: kl_div by xlogy, mul and sub. */
static uint8_t parts_of_operator(struct search *search, uint32_t native_stack)
{
	const struct vt_rules *rules = search->rules;
	const char *name = vt_operators_name(search->operators, native_stack);

	return name ? parts_of(name,
			       vt_operators_has(search->operators, native_stack, &rules->loss.op),
			       &rules->normaliser.op, &rules->product.op)
		    : KNOWN;
}

static void see_parts(struct search *search, uint8_t parts, int64_t event, uint64_t sequence,
		      uint32_t python_stack, enum vt_lm_head how)
{
	if ((parts & LOSS) || ((parts & NORMALISER) && is_programs_own(search, python_stack)))
		see(search, event, sequence, 1, how);
	else if (parts & PRODUCT)
		see(search, event, sequence, 0, how);
}

static void see_node(struct search *search, int64_t event, uint32_t node, uint64_t sequence,
		     uint32_t forward_stack)
{
	uint8_t *known;

	if (node >= search->model->strings.nr)
		return;
	known = &search->node_parts[node];
	if (!*known)
		*known = parts_of_node(search, node);
	see_parts(search, *known, event, sequence, forward_stack, VT_HEAD_AUTOGRAD);
}

static void see_operator(struct search *search, const struct vt_allocation *a)
{
	uint8_t *known;

	if (a->common->made->native_stack >= search->model->frames.native_tree.nr_stacks)
		return;
	known = &search->operator_parts[a->common->made->native_stack];
	if (!*known)
		*known = parts_of_operator(search, a->common->made->native_stack);
	see_parts(search, *known, a->event, a->forward_sequence, a->common->made->python_stack,
		  VT_HEAD_FRAMES);
}

/* The loss that did not fit left no allocation behind, but its report has a stack. */
static void see_out_of_memory(struct search *search, const struct vt_out_of_memory *oom)
{
	const char *name = vt_operators_name(search->operators, oom->native_stack);
	uint64_t last = VT_NO_SEQUENCE;

	if (!name || oom->node_class || !vt_globs_match(&search->rules->loss.op, name))
		return;
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];

		if (a->event > oom->event)
			break;
		if (a->common->made->thread == oom->thread && a->forward_sequence != VT_NO_SEQUENCE)
			last = a->forward_sequence;
	}
	if (last != VT_NO_SEQUENCE)
		see(search, oom->event, last + 1, 1, VT_HEAD_FRAMES);
}

static int compare_sightings(const void *a, const void *b)
{
	const struct sighting *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* Joins each loss with the last product before it. */
static void join(struct vt_lm_heads *heads, const struct search *search)
{
	VT_VECTOR(struct vt_lm_head_range) found = { 0 };
	const struct sighting *product = NULL;

	for (size_t i = 0; i < search->seen.len; i++) {
		const struct sighting *s = &search->seen.items[i];
		struct vt_lm_head_range *last = found.len ? &found.items[found.len - 1] : NULL;

		if (product && product->step != s->step)
			product = NULL;
		if (!s->is_loss) {
			product = s;
			continue;
		}
		if (!product || s->sequence - product->sequence > MAX_STRETCH)
			continue;
		if (last && last->step == s->step && last->product == product->sequence) {
			last->loss = s->sequence;
		} else {
			struct vt_lm_head_range stretch = { product->sequence, s->sequence,
							   product->event, s->step, s->how };

			vt_vector_push(&found, stretch);
		}
	}
	heads->stretches = found.items;
	heads->nr = (uint32_t)found.len;
}

/* The method of a module that called the operator, by instance and line; 0: no module's. */
static uint32_t place_of(const struct vt_model *model, const struct vt_allocation *a)
{
	uint32_t ids[VT_FRAMES_MAX];

	if (!vt_frames_python(&model->frames, a->common->made->python_stack, ids) ||
	    !model->frames.python[ids[0]].self_type)
		return 0;
	return ids[0];
}

static struct vt_key place_key(uint32_t place)
{
	struct vt_key key = { place, 0, 0 };

	return key;
}

static int is_by_product(const struct vt_lm_heads *heads, const struct vt_model *model,
			 const struct vt_allocation *a)
{
	uint32_t stack = a->common->made->native_stack;

	return !a->common->made->node_class && vt_allocation_is_owned(a) &&
	       stack < model->frames.native_tree.nr_stacks && heads->is_product[stack];
}

static void find_products(struct vt_lm_heads *heads, struct search *search)
{
	uint32_t nr = search->model->frames.native_tree.nr_stacks;

	heads->is_product = vt_xcalloc((size_t)nr + 1, 1);
	for (uint32_t i = 0; i < nr; i++) {
		if (!search->operator_parts[i])
			search->operator_parts[i] = parts_of_operator(search, i);
		heads->is_product[i] = (search->operator_parts[i] & PRODUCT) != 0;
	}
}

static void find_places(struct vt_lm_heads *heads, struct search *search)
{
	const struct vt_model *model = search->model;

	find_products(heads, search);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		uint32_t span = vt_stages_span_at(search->stages, a->event), place;
		const struct vt_lm_head_range *stretch;

		if (span == VT_NO_INDEX || !is_by_product(heads, model, a) ||
		    vt_calls_is_before(&search->stages->calls, i))
			continue;
		stretch = vt_lm_heads_find(heads, search->stages->spans[span].step,
					a->forward_sequence);
		place = place_of(model, a);
		if (place && stretch && stretch->product == a->forward_sequence)
			vt_map_put(&heads->places, place_key(place), 1);
	}
}

int vt_lm_heads_is_at_head(const struct vt_lm_heads *heads, const struct vt_stages *stages,
			const struct vt_allocation *a)
{
	const struct vt_model *model = stages->timeline->model;
	uint32_t place;

	if (!heads->is_product || !is_by_product(heads, model, a))
		return 0;
	place = place_of(model, a);
	return place && vt_map_find(&heads->places, place_key(place)) != NULL;
}

struct forward_threads {
	const struct vt_stage_evidence *evidence;
	uint32_t first; /* 0: none yet */
	int is_several;
};

static void see_forward_thread(void *context, const void *value)
{
	struct forward_threads *threads = context;
	const struct vt_caller *made = ((const struct vt_allocation_common *)value)->made;

	if (made->node_class ||
	    made->python_stack >= threads->evidence->model->frames.python_tree.nr_stacks ||
	    threads->evidence->by_stack[made->python_stack] != VT_STAGE_FORWARD)
		return;
	threads->is_several |= threads->first && threads->first != made->thread;
	threads->first = made->thread;
}

/* Sequence numbers count per thread: with several threads running forwards they say nothing. */
static int has_one_forward_thread(const struct search *search)
{
	struct forward_threads threads = { .evidence = &search->stages->evidence };

	vt_model_each_common(search->model, see_forward_thread, &threads);
	return !threads.is_several;
}

void vt_lm_heads_init(struct vt_lm_heads *heads, const struct vt_stages *stages,
		   const struct vt_rules *rules, struct vt_operators *operators)
{
	struct search search = { .stages = stages,
				 .model = stages->timeline->model,
				 .rules = rules,
				 .operators = operators };

	memset(heads, 0, sizeof(*heads));
	search.node_parts = vt_xcalloc((size_t)search.model->strings.nr + 1, 1);
	search.operator_parts =
		vt_xcalloc((size_t)search.model->frames.native_tree.nr_stacks + 1, 1);
	if (!has_one_forward_thread(&search))
		goto out;
	for (uint32_t i = 0; i < search.model->nr_allocations; i++) {
		const struct vt_allocation *a = &search.model->allocations[i];

		see_node(&search, a->event, a->common->made->node_class, a->node_sequence,
			 a->common->made->forward_python_stack);
		if (a->freed_event != VT_NEVER)
			see_node(&search, a->freed_event, a->common->freed->node_class,
				 a->freed_node_sequence, a->common->freed->forward_python_stack);
		if (!a->common->made->node_class && a->forward_sequence != VT_NO_SEQUENCE)
			see_operator(&search, a);
	}
	for (uint32_t i = 0; i < search.model->nr_ooms; i++)
		see_out_of_memory(&search, &search.model->ooms[i]);
	vt_vector_sort(&search.seen, compare_sightings);
	join(heads, &search);
	if (heads->nr)
		find_places(heads, &search);
out:
	vt_vector_release(&search.seen);
	free(search.node_parts);
	free(search.operator_parts);
}

void vt_lm_heads_release(struct vt_lm_heads *heads)
{
	free(heads->stretches);
	free(heads->is_product);
	vt_map_release(&heads->places);
	memset(heads, 0, sizeof(*heads));
}

const struct vt_lm_head_range *vt_lm_heads_find(const struct vt_lm_heads *heads, uint32_t step,
					    uint64_t sequence)
{
	const struct vt_lm_head_range *all = heads->stretches;
	/* Behind the last stretch that starts at or before (step, sequence). */
	uint32_t low = vt_search_first(i, heads->nr,
				       all[i].step < step || (all[i].step == step &&
							      all[i].product <= sequence));

	if (!low || all[low - 1].step != step || all[low - 1].loss < sequence)
		return NULL;
	return &all[low - 1];
}
