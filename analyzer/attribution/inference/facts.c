/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/facts.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/parallel.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

static int compare_sequences(const void *a, const void *b)
{
	const struct vt_sequence_class *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->node_class < y->node_class ? -1 : x->node_class > y->node_class;
}

static uint32_t step_at(const struct vt_facts *facts, int64_t event)
{
	uint32_t span = vt_stages_span_at(facts->stages, event);

	return span == VT_NO_INDEX ? 0 : facts->stages->spans[span].step;
}

/*
 * What nodes make and what they free takes turns, on several threads: most of what is told was told
 * not long before.
 */
#define RECENT_SEQUENCES 4096

struct sequences {
	VT_VECTOR(struct vt_sequence_class) found;
	uint32_t recent[RECENT_SEQUENCES]; /* by hash: index of one that was found */
};

/* The same node as one of those found; NULL: it is not known to be among them. */
static struct vt_sequence_class *find_recent(struct sequences *all,
					     const struct vt_sequence_class *one)
{
	uint64_t hash = vt_hash_mix(one->sequence, (uint64_t)one->step << 32 | one->node_class);
	uint32_t *at = &all->recent[hash % RECENT_SEQUENCES];
	struct vt_sequence_class *recent = &all->found.items[*at];

	if (*at < all->found.len && !compare_sequences(recent, one))
		return recent;
	*at = (uint32_t)all->found.len;
	return NULL;
}

static void add_sequence(const struct vt_facts *facts, struct sequences *all, int64_t event,
			 uint32_t node_class, uint32_t sequence, int makes_gradient)
{
	struct vt_sequence_class one = { sequence, 0, node_class, (uint8_t)makes_gradient };
	struct vt_sequence_class *known = NULL;

	if (!node_class || sequence == VT_NO_SEQUENCE)
		return;
	/* Events of one node follow each other. */
	if (all->found.len)
		known = &all->found.items[all->found.len - 1];
	if (!known || known->sequence != sequence || known->node_class != node_class) {
		one.step = step_at(facts, event);
		known = find_recent(all, &one);
	}
	if (known)
		known->makes_gradient |= makes_gradient;
	else
		vt_vector_push(&all->found, one);
}

/* One entry per node: nodes on several threads take turns. */
static void join_sequences(void *into, void *from)
{
	struct vt_sequence_class *last = into;

	last->makes_gradient |= ((struct vt_sequence_class *)from)->makes_gradient;
}

/* It outlives the pass; or it was only added to the .grad that was there. */
static int makes_gradient(struct vt_facts *facts, const struct vt_allocation *a)
{
	const char *freed_by = vt_operators_class(&facts->operators, a->common->freed->node_class);

	if (!a->common->made->node_class)
		return 0;
	if (freed_by && strncmp(freed_by, "AccumulateGrad", strlen("AccumulateGrad")) == 0)
		return 1;
	return (vt_facts_lifetimes(facts, a) & 1u << VT_LIFETIME_AFTER_BACKWARD) != 0;
}

static void find_sequences(struct vt_facts *facts)
{
	struct sequences all = { 0 };

	for (uint32_t i = 0; i < facts->model->nr_allocations; i++) {
		const struct vt_allocation *a = &facts->model->allocations[i];

		add_sequence(facts, &all, a->event, a->common->made->node_class, a->node_sequence,
			     makes_gradient(facts, a));
		if (a->freed_event != VT_NEVER)
			add_sequence(facts, &all, a->freed_event, a->common->freed->node_class,
				     a->freed_node_sequence, 0);
	}
	facts->nr_sequences = (uint32_t)vt_group(all.found.items, all.found.len, compare_sequences,
						 join_sequences);
	/* Vectors double: what was not needed is not kept beside a long recording. */
	facts->sequences = vt_xrealloc(all.found.items, ((size_t)facts->nr_sequences + 1) *
								sizeof(*all.found.items));
}

/*
 * The last event that shows the program at work: a Python frame or an autograd node.  The
 * interpreter frees what is left at its end without any frame.
 */
static int64_t find_last_working_event(const struct vt_model *model)
{
	int64_t last = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->event > last)
			last = a->event;
		if (a->freed_event != VT_NEVER && a->freed_event > last &&
		    (a->common->freed->python_stack || a->common->freed->node_class))
			last = a->freed_event;
	}
	for (uint32_t i = 0; i < model->nr_marks; i++)
		if (model->marks[i].event > last)
			last = model->marks[i].event;
	return last;
}

static uint8_t has_optimizer(const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const char *scope = vt_model_text(model, model->allocations[i].common->made->scope);

		if (scope && strncmp(scope, "Optimizer.", strlen("Optimizer.")) == 0)
			return 1;
	}
	return 0;
}

static void find_heads(struct vt_facts *facts)
{
	vt_lm_heads_init(&facts->lm_heads, facts->stages, facts->rules, &facts->operators);
}

static void find_flow(struct vt_facts *facts)
{
	vt_flow_kinds_init(&facts->flow, facts->model, &facts->names, &facts->operators);
}

static void find_names(struct vt_facts *facts)
{
	vt_names_init(&facts->names, facts->model);
	find_flow(facts);
	vt_parameter_containers_init(&facts->containers, &facts->names, &facts->flow,
				     facts->stages);
}

static void find_recomputes(struct vt_facts *facts)
{
	vt_recomputes_init(&facts->recomputes, facts->model, &facts->stages->module_stacks);
}

static void find_rest(struct vt_facts *facts)
{
	vt_module_apply_init(&facts->module_apply, facts->stages);
	vt_shapes_init(&facts->shapes, facts->model, facts->rules);
	vt_token_sampling_init(&facts->sampling, facts->stages, facts->rules, &facts->operators);
	facts->has_optimizer = has_optimizer(facts->model);
}

/*
 * None of them needs what another finds.  The first and find_sequences() take longest, and most
 * memory, of a long recording: this order keeps them apart on two processors.
 */
static void (*const searches[])(struct vt_facts *) = {
	find_heads, find_names, find_recomputes, find_rest, find_sequences,
};

static void search(void *facts, size_t number)
{
	searches[number](facts);
}

void vt_facts_init(struct vt_facts *facts, const struct vt_stages *stages,
		   const struct vt_rules *rules)
{
	memset(facts, 0, sizeof(*facts));
	facts->model = stages->timeline->model;
	facts->rules = rules;
	facts->stages = stages;
	vt_operators_init(&facts->operators, facts->model, rules);
	/* What tells how long something lived. */
	facts->last_working_event = find_last_working_event(facts->model);
	if (facts->model->nr_allocations)
		facts->last_made_event =
			facts->model->allocations[facts->model->nr_allocations - 1].event;
	vt_parallel_run(VT_ARRAY_SIZE(searches), search, facts);
}

void vt_facts_release(struct vt_facts *facts)
{
	vt_operators_release(&facts->operators);
	vt_flow_kinds_release(&facts->flow);
	vt_lm_heads_release(&facts->lm_heads);
	vt_module_apply_release(&facts->module_apply);
	vt_shapes_release(&facts->shapes);
	vt_parameter_containers_release(&facts->containers);
	vt_token_sampling_release(&facts->sampling);
	free(facts->as_cache);
	free(facts->functional_updates);
	vt_names_release(&facts->names);
	vt_narrow_release(&facts->gradient_of);
	vt_recomputes_release(&facts->recomputes);
	free(facts->derived);
	vt_narrow_release(&facts->cast_of);
	free(facts->replaced);
	free(facts->sequences);
	memset(facts, 0, sizeof(*facts));
}

static uint32_t index_of(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return (uint32_t)(a - facts->model->allocations);
}

/* Made while autograd numbered nothing: the thread's last number is that of something older. */
static int is_unnumbered(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_calls_is_before(&facts->stages->calls, index_of(facts, a));
}

/* What autograd did not record copies something else, labels or a mask, between two that it did. */
static int is_copy_of_other(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const char *op = vt_operators_name(&facts->operators, a->common->made->native_stack);

	return op && vt_globs_match(&facts->rules->copy, op) &&
	       !vt_calls_is_numbered(&facts->stages->calls, index_of(facts, a));
}

uint32_t vt_facts_heads(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint64_t sequence = a->common->made->node_class ? a->node_sequence : a->forward_sequence;
	const struct vt_span *span = vt_facts_span(facts, a);
	const struct vt_lm_head_range *stretch;
	uint32_t bits = 0;

	/* What was observed needs no inference. */
	if (vt_flow_kinds_knows_heads(&facts->flow, a))
		return vt_flow_kinds_find(&facts->flow, a) == VT_FLOW_LOGITS ? 1u << VT_HEAD_FLOW
									      : 0;
	if (!span)
		return 0;
	if (!a->common->made->node_class &&
	    a->common->made->python_stack < facts->stages->module_stacks.nr_stacks &&
	    facts->stages->module_stacks.is_head[a->common->made->python_stack])
		bits |= 1u << VT_HEAD_MODULE;
	if (vt_lm_heads_is_at_head(&facts->lm_heads, facts->stages, a))
		bits |= 1u << VT_HEAD_MODULE;
	if (sequence == VT_NO_SEQUENCE || is_unnumbered(facts, a))
		return bits;
	stretch = vt_lm_heads_find(&facts->lm_heads, span->step, sequence);
	if (stretch && !a->common->made->node_class && a->event >= stretch->product_event)
		bits |= 1u << VT_HEAD_PRODUCT;
	/*
	 * The product's own node makes the gradients of its input and its weight, not of the
	 * logits.
	 */
	if (!stretch || (a->common->made->node_class && sequence == stretch->product))
		return bits;
	if (!a->common->made->node_class &&
	    (span->stage != VT_STAGE_FORWARD || is_copy_of_other(facts, a)))
		return bits;
	return bits | 1u << stretch->how;
}

/* The node that the forward operator of `a` created; NULL: none, or nothing is known about it. */
static const struct vt_sequence_class *find_node(const struct vt_facts *facts,
						 const struct vt_allocation *a)
{
	uint32_t low;
	struct vt_sequence_class wanted = { a->forward_sequence, step_at(facts, a->event), 0, 0 };

	if (a->common->made->node_class || a->forward_sequence == VT_NO_SEQUENCE ||
	    is_unnumbered(facts, a) ||
	    vt_calls_is_unrecorded(&facts->stages->calls, index_of(facts, a)))
		return NULL;
	low = (uint32_t)vt_search_first(i, facts->nr_sequences,
					compare_sequences(&facts->sequences[i], &wanted) < 0);
	if (low == facts->nr_sequences || facts->sequences[low].sequence != wanted.sequence ||
	    facts->sequences[low].step != wanted.step)
		return NULL;
	return &facts->sequences[low];
}

uint32_t vt_facts_forward_node(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_sequence_class *node = find_node(facts, a);

	return node ? node->node_class : 0;
}

uint32_t vt_facts_yields(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_sequence_class *node = find_node(facts, a);

	/* What autograd did not record has the number of the operator before it. */
	if (!vt_calls_is_numbered(&facts->stages->calls, index_of(facts, a)))
		return 0;
	return node && node->makes_gradient ? 1u << VT_YIELD_GRADIENT : 0;
}

uint32_t vt_facts_grad_modes(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_call *call = vt_calls_find(&facts->stages->calls, index_of(facts, a));

	if (call)
		return 1u << (call->has_autograd ? VT_GRAD_MODE_ON : VT_GRAD_MODE_OFF);
	return a->common->made->grad == VT_GRAD_ENABLED &&
			       (a->common->made->node_class ||
				vt_calls_is_numbered(&facts->stages->calls, index_of(facts, a)))
		       ? 1u << VT_GRAD_MODE_ON
		       : 0;
}

uint32_t vt_facts_repeats(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint32_t index = index_of(facts, a);

	if (facts->stages->passes.is_carried[index])
		return 1u << VT_REPEAT_CARRIED;
	if (facts->as_cache && facts->as_cache[index])
		return 1u << VT_REPEAT_AS_CACHE;
	if (facts->replaced[index])
		return 1u << VT_REPEAT_AS_PARAMETER;
	if (!vt_calls_find(&facts->stages->calls, index))
		return 0;
	if (vt_calls_is_again(&facts->stages->calls, index, a->common->made->python_stack))
		return 1u << VT_REPEAT_AGAIN;
	return 1u << VT_REPEAT_ONCE;
}

uint32_t vt_facts_roles(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_names_roles(&facts->names, index_of(facts, a));
}

const struct vt_tensor *vt_facts_row(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_names_find(&facts->names, index_of(facts, a), VT_NAMES_ANY_ROLE);
}

uint32_t vt_facts_flags(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint32_t nr, flags = 0, bits = 0;
	const uint32_t *rows = vt_names_rows(&facts->names, index_of(facts, a), &nr);

	for (uint32_t i = 0; i < nr; i++)
		flags |= facts->model->tensors[rows[i]].flags;
	bits |= flags & VT_TENSOR_REQUIRES_GRAD ? 1u << VT_FLAG_REQUIRES_GRAD : 0;
	bits |= flags & VT_TENSOR_LEAF ? 1u << VT_FLAG_LEAF : 0;
	return bits | (flags & VT_TENSOR_VIEW ? 1u << VT_FLAG_VIEW : 0);
}

uint32_t vt_facts_copies(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_tensor *row = vt_facts_row(facts, a);

	if (!row || !vt_names_has_parameter_like(&facts->names, row))
		return 0;
	return 1u << VT_THING_PARAMETER;
}

uint32_t vt_facts_like(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_tensor *row = vt_facts_row(facts, a);

	return row && vt_names_is_shaped_like(&facts->names, row) ? 1u << VT_THING_PARAMETER : 0;
}

uint32_t vt_facts_gradients(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_narrow_get(&facts->gradient_of, index_of(facts, a)) ? 1u << VT_THING_PARAMETER
								      : 0;
}

uint32_t vt_facts_casts(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_narrow_get(&facts->cast_of, index_of(facts, a)) ? 1u << VT_THING_PARAMETER : 0;
}

const struct vt_tensor *vt_facts_parameter(const struct vt_facts *facts,
					   const struct vt_allocation *a)
{
	uint32_t index = index_of(facts, a);
	uint32_t tensor = vt_narrow_get(&facts->gradient_of, index);

	if (!tensor)
		tensor = vt_narrow_get(&facts->cast_of, index);
	if (!tensor)
		tensor = facts->replaced[index];
	return tensor ? &facts->model->tensors[tensor - 1] : NULL;
}

uint32_t vt_facts_programs(const struct vt_facts *facts)
{
	const struct vt_stages *stages = facts->stages;
	uint32_t bits = 1u << VT_PROGRAM_FUNCTIONS;
	uint32_t optimizer = facts->has_optimizer ? 1u << VT_PROGRAM_OPTIMIZER : 0;

	if (stages->evidence.has_forward && !stages->evidence.has_autograd)
		return 1u << VT_PROGRAM_UNRECORDED | 1u << VT_PROGRAM_MODULES;
	if (stages->evidence.has_forward)
		return optimizer | 1u << VT_PROGRAM_MODULES;
	if (stages->evidence.has_autograd)
		return optimizer | bits;
	for (uint32_t i = 0; i < stages->nr_spans; i++)
		if (stages->spans[i].stage == VT_STAGE_FORWARD ||
		    stages->spans[i].stage == VT_STAGE_GENERATION) {
			bits |= 1u << VT_PROGRAM_INFERENCE;
			return bits | (facts->sampling.nr ? 1u << VT_PROGRAM_DECODER : 0);
		}
	return bits | 1u << VT_PROGRAM_COMPUTATION;
}

uint32_t vt_facts_sources(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint8_t what = facts->derived ? facts->derived[index_of(facts, a)] : 0;

	if (vt_flow_kinds_find(&facts->flow, a) == VT_FLOW_WEIGHT)
		return 1u << VT_SOURCE_WEIGHTS;
	if (vt_flow_kinds_find(&facts->flow, a) == VT_FLOW_STREAMED)
		return 1u << VT_SOURCE_STREAMED;
	/* Within a call of a model nothing is derived, but operators were seen there, too. */
	if (!what && !a->common->made->node_class && vt_flow_kinds_is_of_layer(&facts->flow, a))
		return 1u << VT_SOURCE_LAYERS;
	return what ? 1u << (what - 1) : 0;
}

uint32_t vt_facts_updates(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint8_t what =
		facts->functional_updates ? facts->functional_updates[index_of(facts, a)] : 0;

	return what ? 1u << (what - 1) : 0;
}

uint32_t vt_facts_shape_classes(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_allocation_is_owned(a) ? vt_shapes_classes(&facts->shapes, facts->model, a) : 0;
}

uint32_t vt_facts_alike(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint32_t bits = 0;

	if (!vt_allocation_is_owned(a))
		return 0;
	if (facts->containers.is_member[index_of(facts, a)])
		bits |= 1u << VT_ALIKE_TREE;
	if (facts->containers.is_factor[index_of(facts, a)])
		bits |= 1u << VT_ALIKE_FACTORS;
	if (facts->containers.is_score[index_of(facts, a)] ||
	    facts->sampling.is_score[index_of(facts, a)])
		bits |= 1u << VT_ALIKE_SCORES;
	return bits;
}

uint32_t vt_facts_shares(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_peak *peak = vt_model_peak(facts->model, a->common->device);

	if (!peak)
		return 0;
	return 1u << (a->common->size_bytes > peak->used_bytes / 1000 ? VT_SHARE_LARGE
								      : VT_SHARE_SMALL);
}
