/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#include "analyzer/model/names.h"

/* A block of the least size: shifts, scales, ranges made up for the computation. */
#define LARGEST_CONSTANT 512
#define MODULE_ROLES     (1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER)

/* What a value is computed of; of a weight that was only copied it is no other form. */
enum source { SOURCE_DATA, SOURCE_CONSTANT, SOURCE_WEIGHTS, SOURCE_CONVERTED };

static int is_module_tensor(const struct vt_names *names, uint32_t allocation)
{
	return (vt_names_roles(names, allocation) & MODULE_ROLES) != 0;
}

static uint8_t source_of_leaf(const struct vt_flow_value *value, const struct vt_names *names)
{
	if (is_module_tensor(names, value->allocation))
		return SOURCE_WEIGHTS;
	return value->bytes <= LARGEST_CONSTANT ? SOURCE_CONSTANT : SOURCE_DATA;
}

/* By element, or a choice of rows of a table: what changes the form of a weight. */
static int is_conversion(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_CAST:
		return 1;
	case VT_OPERATOR_ADD:
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_INDEX:
	case VT_OPERATOR_JOIN:
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_OTHER:
		/* What is trained through it is a part of the network. */
		return flow->model->calls.items[node->operator].sequence == VT_NO_SEQUENCE;
	default:
		return 0;
	}
}

/* Copies and rows that a program picks are as they were; a code book's are what codes mean. */
static int is_other_form(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			 const uint8_t *sources)
{
	if (node->class != VT_OPERATOR_INDEX)
		return node->class != VT_OPERATOR_COPY;
	for (uint32_t i = 1; i < node->nr_inputs; i++)
		if (sources[flow->inputs[node->first_input + i]] >= SOURCE_WEIGHTS)
			return 1;
	return 0;
}

static uint8_t source_of_node(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			      const uint8_t *sources)
{
	uint8_t source = SOURCE_CONSTANT;

	if (!is_conversion(flow, node))
		return SOURCE_DATA;
	for (uint32_t i = 0; i < node->nr_inputs; i++) {
		uint8_t one = sources[flow->inputs[node->first_input + i]];

		if (one == SOURCE_DATA)
			return SOURCE_DATA;
		if (one > source)
			source = one;
	}
	if (source == SOURCE_WEIGHTS && is_other_form(flow, node, sources))
		source = SOURCE_CONVERTED;
	return source;
}

/* Whether it multiplies data, also where the forward is repeated. */
static int multiplies_data(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			   const uint8_t *sources)
{
	for (uint32_t i = 0; i < node->nr_inputs && vt_flow_is_product(node); i++)
		if (sources[flow->inputs[node->first_input + i]] == SOURCE_DATA)
			return 1;
	return 0;
}

static int is_below(const struct vt_dataflow *flow, const struct vt_flow_node *node,
		    uint64_t module)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_dataflow_frames(flow, node, ids);

	for (unsigned i = 0; i < nr; i++)
		if (flow->model->frames.python[ids[i]].self_address == module)
			return 1;
	return 0;
}

/* Whether a product's own module made what it reads: others replace parameters, by averages. */
static int is_made_there(const struct vt_dataflow *flow, const struct vt_flow_node *product,
			 uint32_t value)
{
	const struct vt_frame_python *method = vt_dataflow_method(flow, product);
	uint32_t maker = flow->values[value].since;

	return !method || (maker < flow->nr_nodes &&
			   is_below(flow, &flow->nodes[maker], method->self_address));
}

/* By value: whether a product of data reads it, or what is made of it for one. */
static void note_reading(const struct vt_dataflow *flow, const uint8_t *sources, uint8_t *is_read)
{
	for (uint32_t n = flow->nr_nodes; n-- > 0;) {
		const struct vt_flow_node *node = &flow->nodes[n];
		int multiplies = multiplies_data(flow, node, sources), converts = 0;

		for (uint32_t o = 0; o < node->nr_outputs; o++)
			converts |= sources[node->first_output + o] == SOURCE_CONVERTED &&
				    is_read[node->first_output + o];
		for (uint32_t i = 0; i < node->nr_inputs; i++) {
			uint32_t value = flow->inputs[node->first_input + i];

			is_read[value] |=
				converts || (multiplies && is_made_there(flow, node, value));
		}
	}
}

static void label(struct vt_dataflow *flow, struct vt_flow_node *node)
{
	node->label = VT_FLOW_WEIGHT;
	node->makes_leaf = 1;
	for (uint32_t o = 0; o < node->nr_outputs; o++)
		flow->values[node->first_output + o].writer = VT_NO_INDEX;
}

void vt_flow_find_weights(struct vt_dataflow *flow, const struct vt_names *names)
{
	uint8_t *sources = vt_xcalloc((size_t)flow->nr_values + 1, 1);
	uint8_t *is_read = vt_xcalloc((size_t)flow->nr_values + 1, 1);

	for (uint32_t v = 0; v < flow->nr_values; v++)
		sources[v] = source_of_leaf(&flow->values[v], names);
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		const struct vt_flow_node *node = &flow->nodes[n];
		uint8_t source = source_of_node(flow, node, sources);

		/* A parameter stays one when it is written. */
		for (uint32_t o = node->first_output; o < node->first_output + node->nr_outputs;
		     o++)
			if (!is_module_tensor(names, flow->values[o].allocation))
				sources[o] = source;
	}
	note_reading(flow, sources, is_read);
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];
		uint32_t value = node->first_output;

		if (sources[value] == SOURCE_CONVERTED && is_read[value] &&
		    !is_module_tensor(names, flow->values[value].allocation))
			label(flow, node);
	}
	free(sources);
	free(is_read);
}
