/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/dataflow.h"

#include <string.h>

struct building {
	struct vt_dataflow *flow;
	struct vt_operators *operators;
	const struct vt_operator_calls *calls;
	uint8_t *classes;   /* by string + 1; 0: not asked */
	uint8_t *is_inside; /* by operator: what it does is told by one that called it */
	uint8_t *has_child; /* by operator: it called others that do something */
	uint32_t *current;  /* by allocation: its value + 1 */
	uint8_t *is_weight; /* by allocation: a layer read it as a leaf */
	VT_VECTOR(struct vt_flow_node) nodes;
	VT_VECTOR(struct vt_flow_value) values;
	VT_VECTOR(uint32_t) inputs;
};

static enum vt_operator_class class_of(const struct building *b,
				       const struct vt_operator_call *operator)
{
	uint8_t *known = &b->classes[operator->name];
	const char *name;

	if (!*known) {
		name = vt_model_text(b->flow->model, operator->name);
		*known = (uint8_t)(1 + (name ? vt_operator_class(name) : VT_OPERATOR_OTHER));
	}
	return *known - 1;
}

/* What says by its name what it computes; others are what they call. */
static int is_telling(enum vt_operator_class class)
{
	return class != VT_OPERATOR_OTHER && class != VT_OPERATOR_VIEW &&
	       class != VT_OPERATOR_FACTORY;
}

/* `out=`, the last argument: written, not read. */
static int is_out_argument(const struct building *b, const struct vt_operator_call *operator,
			   const struct vt_call_tensor *t)
{
	const struct vt_call_tensor *tensors = &b->calls->tensors[operator->first_tensor];
	int is_returned = 0;

	if (!t->position || !is_telling(class_of(b, operator)))
		return 0;
	for (uint32_t i = 0; i < operator->nr_tensors; i++) {
		if (tensors[i].is_output)
			is_returned |= tensors[i].allocation == t->allocation;
		else if (tensors[i].position > t->position)
			return 0;
	}
	return is_returned;
}

/* It reads what lies there, so that returning it says nothing of writing. */
static int is_input(const struct building *b, const struct vt_operator_call *operator,
		    uint32_t allocation)
{
	for (uint32_t i = 0; i < operator->nr_tensors; i++) {
		const struct vt_call_tensor *t =
			&b->calls->tensors[operator->first_tensor + i];

		if (!t->is_output && t->allocation == allocation)
			return !is_out_argument(b, operator, t);
	}
	return 0;
}

static int has_results(const struct building *b, const struct vt_operator_call *operator)
{
	for (uint32_t i = 0; i < operator->nr_tensors; i++)
		if (b->calls->tensors[operator->first_tensor + i].is_output)
			return 1;
	return 0;
}

/* Not a view, or a cast to the type that it has already. */
static int writes_something(const struct building *b, const struct vt_operator_call *operator)
{
	const char *name = vt_model_text(b->flow->model, operator->name);

	for (uint32_t i = 0; i < operator->nr_tensors; i++) {
		const struct vt_call_tensor *t =
			&b->calls->tensors[operator->first_tensor + i];

		if (t->is_output && t->allocation != VT_NO_INDEX &&
		    !is_input(b, operator, t->allocation))
			return 1;
	}
	return name && vt_operator_is_in_place(name);
}

/* Also the caller of a caller without results, as a dispatch mode is between two operators. */
static void mark_callers(struct building *b, uint32_t caller)
{
	while (caller != VT_NO_INDEX) {
		b->has_child[caller] = 1;
		if (has_results(b, &b->calls->items[caller]))
			return;
		caller = b->calls->items[caller].parent;
	}
}

static void find_outermost(struct building *b)
{
	for (uint32_t i = 0; i < b->calls->nr; i++) {
		const struct vt_operator_call *operator = &b->calls->items[i];
		enum vt_operator_class class = class_of(b, operator);
		uint32_t parent = operator->parent;

		if (parent == VT_NO_INDEX)
			continue;
		b->is_inside[i] = b->is_inside[parent] ||
				  is_telling(class_of(b, &b->calls->items[parent]));
		if (class != VT_OPERATOR_FACTORY && class != VT_OPERATOR_VIEW &&
		    writes_something(b, operator))
			mark_callers(b, parent);
	}
}

static uint32_t add_value(struct building *b, uint32_t allocation, uint32_t writer, uint32_t since)
{
	struct vt_flow_value value = {
		.bytes = b->flow->model->allocations[allocation].common->size_bytes,
		.allocation = allocation,
		.writer = writer,
		.since = since,
	};

	vt_vector_push(&b->values, value);
	b->current[allocation] = (uint32_t)b->values.len;
	return (uint32_t)b->values.len - 1;
}

/* What only a network computes; by element and by casts programs also make batches. */
static int is_layer(enum vt_operator_class class)
{
	switch (class) {
	case VT_OPERATOR_PRODUCT:
	case VT_OPERATOR_CONVOLUTION:
	case VT_OPERATOR_ATTENTION:
	case VT_OPERATOR_RECURRENT:
	case VT_OPERATOR_EMBEDDING:
		return 1;
	default:
		return 0;
	}
}

/*
 * Observing starts in the middle: the operator that made this block was missed, but its native
 * stack names it.
 */
static uint32_t add_leaf(struct building *b, uint32_t allocation)
{
	uint32_t value = add_value(b, allocation, VT_NO_INDEX, (uint32_t)b->nodes.len);
	uint32_t stack = b->flow->model->allocations[allocation].common->made->native_stack;
	const char *name = vt_operators_name(b->operators, stack);

	b->values.items[value].is_of_layer = name && is_layer(vt_operator_class(name));
	return value;
}

static void add_inputs(struct building *b, struct vt_flow_node *node)
{
	const struct vt_operator_call *operator = &b->calls->items[node->operator];

	node->first_input = (uint32_t)b->inputs.len;
	for (uint32_t i = 0; i < operator->nr_tensors; i++) {
		const struct vt_call_tensor *t =
			&b->calls->tensors[operator->first_tensor + i];
		uint32_t value;

		if (t->is_output || t->allocation == VT_NO_INDEX ||
		    is_out_argument(b, operator, t))
			continue;
		value = b->current[t->allocation];
		value = value ? value - 1 : add_leaf(b, t->allocation);
		vt_vector_push(&b->inputs, value);
	}
	node->nr_inputs = (uint32_t)b->inputs.len - node->first_input;
}

/* Of leaves a sum, a cast and the like is a leaf; a network begins where they are multiplied. */
static int makes_leaf(const struct building *b, const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_FACTORY:
	case VT_OPERATOR_UPDATE:
		return 1;
	case VT_OPERATOR_PRODUCT:
	case VT_OPERATOR_CONVOLUTION:
	case VT_OPERATOR_EMBEDDING:
	case VT_OPERATOR_INDEX:
	case VT_OPERATOR_NORM:
	case VT_OPERATOR_ATTENTION:
	case VT_OPERATOR_RECURRENT:
	case VT_OPERATOR_NORMALISER:
	case VT_OPERATOR_LOSS:
		return !node->nr_inputs;
	default:
		break;
	}
	for (uint32_t i = 0; i < node->nr_inputs; i++)
		if (b->values.items[b->inputs.items[node->first_input + i]].writer != VT_NO_INDEX)
			return 0;
	return 1;
}

/* Leaves that layers read stay leaves when they are written: that is an update of weights. */
static void note_weights(struct building *b, const struct vt_flow_node *node)
{
	const struct vt_operator_call *operator = &b->calls->items[node->operator];

	if (node->class != VT_OPERATOR_PRODUCT && node->class != VT_OPERATOR_CONVOLUTION &&
	    node->class != VT_OPERATOR_EMBEDDING && node->class != VT_OPERATOR_NORM)
		return;
	for (uint32_t i = 0; i < operator->nr_tensors && !node->in_backward; i++) {
		uint32_t allocation = b->calls->tensors[operator->first_tensor + i].allocation;

		if (allocation != VT_NO_INDEX && b->current[allocation] &&
		    b->values.items[b->current[allocation] - 1].writer == VT_NO_INDEX)
			b->is_weight[allocation] = 1;
	}
}

/* The values that it writes, if it writes any: the node is then kept. */
static void add_outputs(struct building *b, struct vt_flow_node *node)
{
	const struct vt_operator_call *operator = &b->calls->items[node->operator];
	const char *name = vt_model_text(b->flow->model, operator->name);
	int is_in_place = name && vt_operator_is_in_place(name);
	int is_generated = name && vt_operator_is_generated(name);
	uint32_t index = (uint32_t)b->nodes.len;

	node->first_output = (uint32_t)b->values.len;
	for (uint32_t i = 0; i < operator->nr_tensors; i++) {
		const struct vt_call_tensor *t =
			&b->calls->tensors[operator->first_tensor + i];
		uint32_t known, value;

		if (t->allocation == VT_NO_INDEX)
			continue;
		if (t->is_output ? !is_generated && is_input(b, operator, t->allocation)
				 : !is_in_place || t->position)
			continue;
		known = b->current[t->allocation];
		/* Twice among the results. */
		if (known > node->first_output)
			continue;
		node->makes_leaf |= b->is_weight[t->allocation];
		value = add_value(b, t->allocation,
				  node->makes_leaf || node->in_backward ? VT_NO_INDEX : index,
				  index);
		b->values.items[value].is_of_layer =
			node->is_of_layer && !b->is_weight[t->allocation];
	}
	node->nr_outputs = (uint32_t)b->values.len - node->first_output;
	if (node->nr_outputs)
		vt_vector_push(&b->nodes, *node);
	else
		b->inputs.len = node->first_input;
}

static int is_of_layer(const struct building *b, const struct vt_flow_node *node)
{
	if (node->in_backward || node->class == VT_OPERATOR_FACTORY ||
	    node->class == VT_OPERATOR_UPDATE)
		return 0;
	if (is_layer(node->class) && !node->makes_leaf)
		return 1;
	for (uint32_t i = 0; i < node->nr_inputs; i++)
		if (b->values.items[b->inputs.items[node->first_input + i]].is_of_layer)
			return 1;
	return 0;
}

/* An operator that computes by itself makes its result so: the result is of its inputs. */
static int is_made_for_parent(const struct building *b, const struct vt_flow_node *node)
{
	uint32_t parent = b->calls->items[node->operator].parent;

	return node->class == VT_OPERATOR_FACTORY && parent != VT_NO_INDEX &&
	       !b->has_child[parent] && writes_something(b, &b->calls->items[parent]);
}

static void add_node(struct building *b, uint32_t index)
{
	const struct vt_operator_call *operator = &b->calls->items[index];
	struct vt_flow_node node = { .operator = index, .region = VT_NO_INDEX };

	node.class = (uint8_t)class_of(b, operator);
	if (b->is_inside[index] || (!is_telling(node.class) && b->has_child[index]) ||
	    is_made_for_parent(b, &node))
		return;
	/* What makes nodes in the backward pass repeats a forward, or is one of a gradient. */
	node.in_backward = operator->node_class && operator->sequence == VT_NO_SEQUENCE;
	add_inputs(b, &node);
	node.makes_leaf = (uint8_t)makes_leaf(b, &node);
	node.is_of_layer = (uint8_t)is_of_layer(b, &node);
	note_weights(b, &node);
	add_outputs(b, &node);
}

static void find_readers(struct vt_dataflow *flow)
{
	uint32_t total = 0;

	for (int is_counting = 1; is_counting >= 0; is_counting--) {
		for (uint32_t n = 0; n < flow->nr_nodes; n++) {
			const struct vt_flow_node *node = &flow->nodes[n];

			for (uint32_t i = 0; i < node->nr_inputs && !node->in_backward; i++) {
				struct vt_flow_value *value =
					&flow->values[flow->inputs[node->first_input + i]];

				if (!is_counting)
					flow->readers[value->first_reader + value->nr_readers] = n;
				value->nr_readers++;
			}
		}
		for (uint32_t v = 0; v < flow->nr_values && is_counting; v++) {
			flow->values[v].first_reader = total;
			total += flow->values[v].nr_readers;
			flow->values[v].nr_readers = 0;
		}
		if (is_counting)
			flow->readers = vt_xcalloc((size_t)total + 1, sizeof(*flow->readers));
	}
}

void vt_dataflow_init(struct vt_dataflow *flow, const struct vt_model *model,
		      struct vt_operators *operators)
{
	struct building b = { .flow = flow, .operators = operators, .calls = &model->calls };
	size_t nr_strings = (size_t)model->strings.nr + 1;

	memset(flow, 0, sizeof(*flow));
	flow->model = model;
	if (!b.calls->nr)
		return;
	b.classes = vt_xcalloc(nr_strings, sizeof(*b.classes));
	b.is_inside = vt_xcalloc(b.calls->nr, sizeof(*b.is_inside));
	b.has_child = vt_xcalloc(b.calls->nr, sizeof(*b.has_child));
	b.current = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*b.current));
	b.is_weight = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*b.is_weight));
	find_outermost(&b);
	for (uint32_t i = 0; i < b.calls->nr; i++)
		add_node(&b, i);
	flow->nodes = b.nodes.items;
	flow->nr_nodes = (uint32_t)b.nodes.len;
	flow->values = b.values.items;
	flow->nr_values = (uint32_t)b.values.len;
	flow->inputs = b.inputs.items;
	flow->seen = vt_xcalloc((size_t)flow->nr_nodes + 1, sizeof(*flow->seen));
	find_readers(flow);
	free(b.classes);
	free(b.is_inside);
	free(b.has_child);
	free(b.current);
	free(b.is_weight);
}

void vt_dataflow_release(struct vt_dataflow *flow)
{
	free(flow->nodes);
	free(flow->values);
	free(flow->inputs);
	free(flow->readers);
	free(flow->seen);
	memset(flow, 0, sizeof(*flow));
}

struct vt_flow_node *vt_dataflow_writer(const struct vt_dataflow *flow,
					const struct vt_flow_node *node, uint32_t i)
{
	uint32_t writer = vt_dataflow_input(flow, node, i)->writer;

	return writer == VT_NO_INDEX ? NULL : &flow->nodes[writer];
}

struct vt_flow_node *vt_dataflow_reader(const struct vt_dataflow *flow,
					const struct vt_flow_node *node, uint32_t i)
{
	for (uint32_t o = 0; o < node->nr_outputs; o++) {
		const struct vt_flow_value *value = &flow->values[node->first_output + o];

		if (i < value->nr_readers)
			return &flow->nodes[flow->readers[value->first_reader + i]];
		i -= value->nr_readers;
	}
	return NULL;
}

uint64_t vt_dataflow_bytes(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	return flow->values[node->first_output].bytes;
}

uint64_t vt_dataflow_input_bytes(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < node->nr_inputs; i++)
		if (vt_dataflow_input(flow, node, i)->bytes > most)
			most = vt_dataflow_input(flow, node, i)->bytes;
	return most;
}

uint32_t vt_dataflow_origin(const struct vt_dataflow *flow, uint32_t value)
{
	while (flow->values[value].writer != VT_NO_INDEX) {
		const struct vt_flow_node *node = &flow->nodes[flow->values[value].writer];

		if ((node->class != VT_OPERATOR_COPY && node->class != VT_OPERATOR_CAST &&
		     node->class != VT_OPERATOR_DROPOUT) ||
		    !node->nr_inputs)
			break;
		/* copy_() writes its first argument. */
		value = flow->inputs[node->first_input + node->nr_inputs - 1];
	}
	return value;
}

static uint32_t count_data(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < node->nr_inputs; i++)
		nr += vt_dataflow_writer(flow, node, i) != NULL;
	return nr;
}

int vt_dataflow_is_by_weight(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	return vt_flow_is_product(node) && count_data(flow, node) < 2;
}

int vt_dataflow_is_of_data(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	return vt_flow_is_product(node) && count_data(flow, node) >= 2;
}

unsigned vt_dataflow_frames(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			    uint32_t *ids)
{
	const struct vt_operator_call *call = &flow->model->calls.items[node->operator];

	return vt_frames_python(&flow->model->frames, call->python_stack, ids);
}

const struct vt_frame_python *vt_dataflow_method(const struct vt_dataflow *flow,
						 const struct vt_flow_node *node)
{
	const struct vt_frame_python *frames = flow->model->frames.python;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_dataflow_frames(flow, node, ids);

	for (unsigned i = 0; i < nr; i++)
		if (frames[ids[i]].self_type)
			return &frames[ids[i]];
	return NULL;
}

void vt_dataflow_walk(struct vt_dataflow *flow)
{
	flow->walk++;
}

int vt_dataflow_see(struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	uint32_t *seen = &flow->seen[vt_dataflow_index(flow, node)];

	if (*seen == flow->walk)
		return 0;
	*seen = flow->walk;
	return 1;
}
