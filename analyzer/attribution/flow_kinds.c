/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/flow_kinds.h"

#include <string.h>

#include "analyzer/attribution/flow_passes.h"
#include "analyzer/base/search.h"

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
	/* Nodes of forwards that autograd numbered, by number. */
	VT_VECTOR(uint32_t) numbered;
};

static void label_one(struct labelling *l, uint32_t allocation, enum vt_flow_label label)
{
	l->kinds->labels[allocation] = (uint8_t)label;
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
		if (made[i].made->thread == operator->thread)
			label_one(l, i, label);
	for (uint32_t k = 0; k < operator->nr_tensors; k++) {
		const struct vt_call_tensor *t =
			&l->model->calls.tensors[operator->first_tensor + k];

		if (t->is_output && t->allocation != VT_NO_INDEX &&
		    !l->kinds->is_observed[t->allocation])
			label_one(l, t->allocation, label);
	}
}

static uint64_t number_of(const struct labelling *l, uint32_t node)
{
	return l->model->calls.items[l->flow->nodes[node].operator].sequence;
}

static int compare_numbers(const void *a, const void *b, void *of)
{
	uint64_t x = number_of(of, *(const uint32_t *)a), y = number_of(of, *(const uint32_t *)b);

	return x < y ? -1 : x > y;
}

/* The forward operator of a node of the backward pass: the last that began to number before it. */
static const struct vt_flow_node *find_forward(const struct labelling *l,
					       const struct vt_operator_call *operator)
{
	size_t at = vt_search_first(i, l->numbered.len,
				    number_of(l, l->numbered.items[i]) <= operator->node_sequence);

	return at ? &l->flow->nodes[l->numbered.items[at - 1]] : NULL;
}

/* Gradients of what lies between a head's product and the loss. */
static enum vt_flow_label label_backward(const struct labelling *l, const struct vt_flow_node *node)
{
	const struct vt_flow_node *forward =
		find_forward(l, &l->model->calls.items[node->operator]);

	if (!forward || forward->label != VT_FLOW_LOGITS || forward->class == VT_OPERATOR_PRODUCT ||
	    forward->class == VT_OPERATOR_CONVOLUTION)
		return VT_FLOW_NONE;
	return VT_FLOW_LOGITS;
}

static struct vt_key place_of(const struct vt_allocation *a)
{
	return (struct vt_key){ (uint64_t)a->made->native_stack << 32 | a->made->python_stack,
				a->made->node_class, 0 };
}

static void remember_places(struct vt_flow_kinds *kinds)
{
	for (uint32_t i = 0; i < kinds->model->nr_allocations; i++) {
		struct vt_key place = place_of(&kinds->model->allocations[i]);
		const uint64_t *known;

		if (!kinds->is_observed[i])
			continue;
		known = vt_map_find(&kinds->places, place);
		if (!known)
			vt_map_put(&kinds->places, place, kinds->labels[i]);
		else if (*known != kinds->labels[i])
			vt_map_put(&kinds->places, place, VT_NR_FLOW_LABELS);
	}
}

void vt_flow_kinds_init(struct vt_flow_kinds *kinds, const struct vt_model *model)
{
	struct vt_dataflow flow;
	struct labelling l = { kinds, &flow, model, { 0 } };

	memset(kinds, 0, sizeof(*kinds));
	kinds->model = model;
	if (!model->calls.nr)
		return;
	kinds->labels = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	kinds->is_observed = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	vt_dataflow_init(&flow, model);
	vt_flow_label_norms(&flow);
	vt_flow_label_logits(&flow);
	vt_flow_find_regions(&flow);
	vt_flow_label_attention(&flow);
	vt_flow_label_rest(&flow);
	for (uint32_t n = 0; n < flow.nr_nodes; n++)
		if (!flow.nodes[n].in_backward && number_of(&l, n) != VT_NO_SEQUENCE)
			vt_vector_push(&l.numbered, n);
	if (l.numbered.len)
		qsort_r(l.numbered.items, l.numbered.len, sizeof(uint32_t), compare_numbers, &l);
	for (uint32_t n = 0; n < flow.nr_nodes; n++)
		label_made(&l, &flow.nodes[n],
			   flow.nodes[n].in_backward ? label_backward(&l, &flow.nodes[n])
						     : flow.nodes[n].label);
	remember_places(kinds);
	vt_vector_release(&l.numbered);
	vt_dataflow_release(&flow);
}

void vt_flow_kinds_release(struct vt_flow_kinds *kinds)
{
	free(kinds->labels);
	free(kinds->is_observed);
	vt_map_release(&kinds->places);
	memset(kinds, 0, sizeof(*kinds));
}

enum vt_flow_label vt_flow_kinds_find(const struct vt_flow_kinds *kinds,
				      const struct vt_allocation *a)
{
	uint32_t index = (uint32_t)(a - kinds->model->allocations);
	const uint64_t *known;

	if (!kinds->labels)
		return VT_FLOW_NONE;
	if (kinds->is_observed[index])
		return kinds->labels[index];
	known = vt_map_find(&kinds->places, place_of(a));
	return known && *known < VT_NR_FLOW_LABELS ? (enum vt_flow_label)*known : VT_FLOW_NONE;
}

int vt_flow_kinds_knows(const struct vt_flow_kinds *kinds, const struct vt_allocation *a)
{
	const uint64_t *known;

	if (!kinds->labels)
		return 0;
	if (kinds->is_observed[a - kinds->model->allocations])
		return 1;
	known = vt_map_find(&kinds->places, place_of(a));
	return known && *known < VT_NR_FLOW_LABELS;
}
