/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_kinds.h"

#include <stdatomic.h>
#include <string.h>

#include "analyzer/attribution/dataflow/flow_passes.h"
#include "analyzer/base/hash.h"
#include "analyzer/base/search.h"

/* Beside a label: the node was computed of what layers made. */
#define OF_LAYER 64u
#define NR_CODES 128u
#define NOT_ASKED UINT8_MAX

const char *vt_flow_label_text(enum vt_flow_label label)
{
#define VT_FLOW_LABEL_TEXT(name, text) text,
	static const char *const texts[] = { VT_FLOW_LABELS(VT_FLOW_LABEL_TEXT) };
#undef VT_FLOW_LABEL_TEXT

	return label < VT_NR_FLOW_LABELS ? texts[label] : "";
}

struct labelling {
	struct vt_flow_kinds *kinds;
	const struct vt_dataflow *flow;
	const struct vt_model *model;
	uint32_t *node_of;	     /* by operator: its node + 1 */
	VT_VECTOR(uint32_t) numbered; /* operators of forwards that autograd numbered, by number */
	struct vt_map sizes;          /* of products that make scores */
};

static void label_one(struct labelling *l, uint32_t allocation, const struct vt_flow_node *node,
		      enum vt_flow_label label)
{
	l->kinds->labels[allocation] = (uint8_t)(label | (node->is_of_layer ? OF_LAYER : 0));
	l->kinds->is_observed[allocation] = 1;
}

/*
 * What was made while it ran; of one that is only known at its end, its results.  What a head's
 * product makes besides is a cast of its input, or of its weight.
 */
static void label_made(struct labelling *l, const struct vt_flow_node *node,
		       enum vt_flow_label label)
{
	const struct vt_operator_call *operator = &l->model->calls.items[node->operator];
	const struct vt_allocation *made = l->model->allocations;
	uint32_t i = (uint32_t)vt_search_first(k, l->model->nr_allocations,
					       made[k].event <= operator->event);

	int is_head = label == VT_FLOW_LOGITS && node->class == VT_OPERATOR_PRODUCT;

	if (operator->end_event == VT_NEVER)
		return;
	for (; i < l->model->nr_allocations && made[i].event <= operator->end_event && !is_head;
	     i++)
		if (made[i].common->made->thread == operator->thread)
			label_one(l, i, node, label);
	for (uint32_t k = 0; k < operator->nr_tensors; k++) {
		const struct vt_call_tensor *t =
			&l->model->calls.tensors[operator->first_tensor + k];

		if (t->is_output && t->allocation != VT_NO_INDEX &&
		    !l->kinds->is_observed[t->allocation])
			label_one(l, t->allocation, node, label);
	}
}

static int compare_numbers(const void *a, const void *b, void *of)
{
	const struct vt_operator_call *calls = of;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (calls[i].sequence != calls[k].sequence)
		return calls[i].sequence < calls[k].sequence ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void find_numbered(struct labelling *l)
{
	const struct vt_operator_calls *calls = &l->model->calls;

	l->node_of = vt_xcalloc((size_t)calls->nr + 1, sizeof(*l->node_of));
	for (uint32_t n = 0; n < l->flow->nr_nodes; n++)
		l->node_of[l->flow->nodes[n].operator] = n + 1;
	for (uint32_t i = 0; i < calls->nr; i++)
		if (calls->items[i].sequence != VT_NO_SEQUENCE && !calls->items[i].node_class)
			vt_vector_push(&l->numbered, i);
	if (l->numbered.len)
		qsort_r(l->numbered.items, l->numbered.len, sizeof(uint32_t), compare_numbers,
			calls->items);
}

/*
 * The operator that made a node of the backward pass: the last that began to number before it, and
 * called from where the node says.  VT_NO_INDEX: it was not observed.
 */
static uint32_t find_forward(const struct labelling *l, const struct vt_operator_call *backward)
{
	const struct vt_operator_call *calls = l->model->calls.items;
	size_t at = vt_search_first(i, l->numbered.len, calls[l->numbered.items[i]].sequence <=
								  backward->node_sequence);
	uint32_t found;

	if (!at || backward->node_sequence == VT_NO_SEQUENCE)
		return VT_NO_INDEX;
	found = l->numbered.items[at - 1];
	if (backward->forward_python_stack &&
	    backward->forward_python_stack != calls[found].python_stack)
		return VT_NO_INDEX;
	return found;
}

/* A view of logits, also what a product's operator ends with: what it looks at has a label. */
static int is_view_of_logits(const struct labelling *l, const struct vt_operator_call *call)
{
	const struct vt_call_tensor *t = &l->model->calls.tensors[call->first_tensor];
	const char *name = vt_model_text(l->model, call->name);

	return name && vt_operator_class(name) == VT_OPERATOR_VIEW && call->nr_tensors &&
	       !t->is_output && t->allocation != VT_NO_INDEX &&
	       (l->kinds->labels[t->allocation] & ~OF_LAYER) == VT_FLOW_LOGITS;
}

static void find_sizes(struct labelling *l)
{
	for (uint32_t n = 0; n < l->flow->nr_nodes; n++) {
		const struct vt_flow_node *scores = &l->flow->nodes[n];
		struct vt_key size = { vt_dataflow_bytes(l->flow, scores), 0, 0 };

		if (scores->label == VT_FLOW_LOGITS && vt_flow_is_product(scores))
			vt_map_put(&l->sizes, size, 1);
	}
}

/*
 * Zeros as large as scores, made for a node in Python: the gradient of what a compiled function
 * returned beside the loss, where a program uses the loss alone.
 */
static int is_unused_gradient(const struct labelling *l, const struct vt_flow_node *node)
{
	const struct vt_operator_call *call = &l->model->calls.items[node->operator];
	const char *class = vt_model_text(l->model, call->node_class);
	const char *name = vt_model_text(l->model, call->name);
	struct vt_key size = { vt_dataflow_bytes(l->flow, node), 0, 0 };

	/* Autograd makes them itself: no Python code calls it. */
	if (!name || strcmp(name, "aten::zeros") != 0 || call->python_stack || !class ||
	    !strstr(class, "PyNode"))
		return 0;
	return vt_map_find(&l->sizes, size) != NULL;
}

/* Gradients of what lies between a head's product and the loss. */
static void label_backward(struct labelling *l, const struct vt_flow_node *node)
{
	const struct vt_operator_call *calls = l->model->calls.items;
	uint32_t first = find_forward(l, &calls[node->operator]), call = first;
	const char *name = vt_model_text(l->model, calls[node->operator].name);
	enum vt_flow_label label = VT_FLOW_NONE;

	/* All of a compiled graph is one node of autograd, with no forward to find. */
	if (name && (vt_operator_is_loss_gradient(name) || vt_operator_is_generated(name))) {
		label_made(l, node, vt_operator_is_loss_gradient(name) ? VT_FLOW_LOGITS : label);
		return;
	}
	if (is_unused_gradient(l, node)) {
		label_made(l, node, VT_FLOW_LOGITS);
		return;
	}
	if (first == VT_NO_INDEX)
		return;
	while (!l->node_of[call] && calls[call].parent < call)
		call = calls[call].parent;
	if (is_view_of_logits(l, &calls[first])) {
		label = VT_FLOW_LOGITS;
	} else if (l->node_of[call]) {
		const struct vt_flow_node *forward = &l->flow->nodes[l->node_of[call] - 1];

		/* Of the product itself they are those of what it multiplied. */
		if (forward->class != VT_OPERATOR_PRODUCT &&
		    forward->class != VT_OPERATOR_CONVOLUTION)
			label = forward->label == VT_FLOW_LOGITS ? VT_FLOW_LOGITS : VT_FLOW_NONE;
	}
	label_made(l, node, label);
}

/* The last block before an operator was observed: one of its kind made observing begin. */
static int began_observing(const struct labelling *l, uint32_t allocation)
{
	const struct vt_operator_calls *calls = &l->model->calls;
	const struct vt_allocation *a = &l->model->allocations[allocation];
	uint32_t first = (uint32_t)vt_search_first(i, calls->nr, calls->items[i].event < a->event);

	return first < calls->nr && (allocation + 1 == l->model->nr_allocations ||
				     a[1].event > calls->items[first].event);
}

/* What is filled with scores is theirs from the start. */
static void label_filled(struct labelling *l, const struct vt_flow_node *node)
{
	const struct vt_operator_call *call = &l->model->calls.items[node->operator];
	uint32_t filled = l->model->calls.tensors[call->first_tensor].allocation;

	if (node->fills_scores && filled != VT_NO_INDEX &&
	    (l->kinds->is_observed[filled] || began_observing(l, filled)))
		label_one(l, filled, node, VT_FLOW_LOGITS);
}

/*
 * Where it was made, whether or not that was observed: PyTorch calls operators by another way while
 * they are, so that native stacks differ, and the innermost operator stands for them.
 */
static struct vt_key place_of(const struct vt_flow_kinds *kinds, const struct vt_allocation *a)
{
	const char *name = vt_operators_name(kinds->operators, a->common->made->native_stack);
	uint64_t hash = name ? vt_hash_text(name, strlen(name)) : 0;

	return (struct vt_key){ hash, a->common->made->python_stack, a->common->made->node_class };
}

/* The label that most allocations of a place have, and its lead: one forward may be cut off. */
static void remember_places(struct vt_flow_kinds *kinds)
{
	for (uint32_t i = 0; i < kinds->model->nr_allocations; i++) {
		uint64_t label = kinds->labels[i], lead;
		const uint64_t *known;
		struct vt_key place;

		if (!kinds->is_observed[i])
			continue;
		place = place_of(kinds, &kinds->model->allocations[i]);
		known = vt_map_find(&kinds->places, place);
		lead = known ? *known / NR_CODES : 0;
		if (lead && *known % NR_CODES != label) {
			label = *known % NR_CODES;
			lead--;
		} else {
			lead++;
		}
		vt_map_put(&kinds->places, place, lead * NR_CODES + label);
	}
}

/* In the backward pass data is multiplied with gradients. */
static void find_factors(struct vt_flow_kinds *kinds, const struct vt_dataflow *flow)
{
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		const struct vt_flow_node *node = &flow->nodes[n];
		int is_of_layer = 0;

		if (!vt_flow_is_product(node) || node->in_backward)
			continue;
		for (uint32_t i = 0; i < node->nr_inputs; i++)
			is_of_layer |= vt_dataflow_input(flow, node, i)->is_of_layer;
		for (uint32_t i = 0; i < node->nr_inputs && is_of_layer; i++) {
			const struct vt_flow_value *value = vt_dataflow_input(flow, node, i);

			if (value->writer == VT_NO_INDEX && !value->is_of_layer)
				kinds->is_factor[value->allocation] = 1;
		}
	}
}

static enum vt_flow_label final_label(const struct vt_flow_node *node)
{
	return node->is_unread && node->label == VT_FLOW_MLP ? VT_FLOW_LAST_MLP :
							       (enum vt_flow_label)node->label;
}

void vt_flow_kinds_init(struct vt_flow_kinds *kinds, const struct vt_model *model,
			const struct vt_names *names, struct vt_operators *operators)
{
	struct vt_dataflow flow;
	struct labelling l = { .kinds = kinds, .flow = &flow, .model = model };

	memset(kinds, 0, sizeof(*kinds));
	kinds->model = model;
	kinds->operators = operators;
	if (!model->calls.nr)
		return;
	kinds->labels = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	kinds->is_observed = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	kinds->is_factor = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	vt_dataflow_init(&flow, model, operators);
	find_factors(kinds, &flow);
	vt_flow_find_weights(&flow, names);
	vt_flow_find_streamed(&flow);
	vt_flow_find_composites(&flow);
	vt_flow_label_norms(&flow);
	vt_flow_find_recurrence(&flow);
	vt_flow_label_logits(&flow);
	vt_flow_find_regions(&flow);
	vt_flow_label_attention(&flow);
	vt_flow_label_recurrence(&flow);
	vt_flow_label_feed_forwards(&flow);
	vt_flow_label_projections(&flow);
	vt_flow_label_rest(&flow);
	vt_flow_label_functions(&flow);
	find_numbered(&l);
	find_sizes(&l);
	for (uint32_t n = 0; n < flow.nr_nodes; n++)
		/* Where a forward is repeated weights are converted again. */
		if (flow.nodes[n].in_backward && flow.nodes[n].label != VT_FLOW_WEIGHT)
			label_backward(&l, &flow.nodes[n]);
		else
			label_made(&l, &flow.nodes[n], final_label(&flow.nodes[n]));
	for (uint32_t n = 0; n < flow.nr_nodes; n++)
		label_filled(&l, &flow.nodes[n]);
	remember_places(kinds);
	kinds->by_maker = vt_xmalloc((size_t)model->callers.last_number + 1);
	for (size_t i = 0; i <= model->callers.last_number; i++)
		atomic_init(&kinds->by_maker[i], NOT_ASKED);
	free(l.node_of);
	vt_vector_release(&l.numbered);
	vt_map_release(&l.sizes);
	vt_dataflow_release(&flow);
}

void vt_flow_kinds_release(struct vt_flow_kinds *kinds)
{
	free(kinds->labels);
	free(kinds->is_observed);
	free(kinds->is_factor);
	free(kinds->by_maker);
	vt_map_release(&kinds->places);
	memset(kinds, 0, sizeof(*kinds));
}

/* What was observed at its place + 1; 0: nothing, or no label more often than others. */
static unsigned find_place(const struct vt_flow_kinds *kinds, const struct vt_allocation *a)
{
	_Atomic(uint8_t) *at = &kinds->by_maker[a->common->made->number];
	unsigned code = atomic_load_explicit(at, memory_order_relaxed);
	const uint64_t *known;

	if (code == NOT_ASKED) {
		known = vt_map_find(&kinds->places, place_of(kinds, a));
		code = known && *known >= NR_CODES ? (unsigned)(*known % NR_CODES + 1) : 0;
		atomic_store_explicit(at, (uint8_t)code, memory_order_relaxed);
	}
	return code;
}

/* What is known of it, or of its place: a label, with OF_LAYER. */
static unsigned find_code(const struct vt_flow_kinds *kinds, const struct vt_allocation *a)
{
	uint32_t index = (uint32_t)(a - kinds->model->allocations);
	unsigned place;

	if (!kinds->labels)
		return VT_FLOW_NONE;
	if (kinds->is_observed[index])
		return kinds->labels[index];
	place = find_place(kinds, a);
	return place ? place - 1 : VT_FLOW_NONE;
}

int vt_flow_kinds_is_factor(const struct vt_flow_kinds *kinds, uint32_t allocation)
{
	return kinds->is_factor && kinds->is_factor[allocation];
}

enum vt_flow_label vt_flow_kinds_find(const struct vt_flow_kinds *kinds,
				      const struct vt_allocation *a)
{
	return (enum vt_flow_label)(find_code(kinds, a) & ~OF_LAYER);
}

int vt_flow_kinds_is_of_layer(const struct vt_flow_kinds *kinds, const struct vt_allocation *a)
{
	return (find_code(kinds, a) & OF_LAYER) != 0;
}

int vt_flow_kinds_knows_heads(const struct vt_flow_kinds *kinds, const struct vt_allocation *a)
{
	if (!kinds->labels || vt_flow_kinds_find(kinds, a) == VT_FLOW_LAST_MLP)
		return 0;
	return kinds->is_observed[a - kinds->model->allocations] || find_place(kinds, a) != 0;
}
