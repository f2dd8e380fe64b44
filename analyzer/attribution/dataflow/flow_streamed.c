/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"

#define NO_WEIGHTS UINT64_MAX
#define NESTED_MAX 4 /* operators of one copy that see its result */

/* No operator's result on the device was read for it: what was copied lay on the host. */
static int is_from_host(const struct vt_flow_node *node)
{
	return (node->class == VT_OPERATOR_CAST || node->class == VT_OPERATOR_COPY) &&
	       !node->nr_inputs && node->nr_outputs == 1 && !node->in_backward && !node->label;
}

/* The operand before a value in a product, where a layer made it; VT_NO_INDEX: there is none. */
static uint32_t multiplied_with(const struct vt_dataflow *flow, const struct vt_flow_node *product,
				uint32_t value)
{
	const uint32_t *inputs = &flow->inputs[product->first_input];
	uint32_t found = VT_NO_INDEX;

	for (uint32_t i = 0; i < product->nr_inputs && inputs[i] != value; i++)
		if (flow->values[inputs[i]].is_of_layer)
			found = inputs[i];
	return found;
}

/*
 * Whether nothing but products read it, as what they multiply by.  `with`: what the first of them
 * multiplied, VT_NO_INDEX where no layer made that.
 */
static int is_multiplied(const struct vt_dataflow *flow, uint32_t index, uint32_t *with)
{
	const struct vt_flow_value *value = &flow->values[index];

	for (uint32_t k = 0; k < value->nr_readers; k++) {
		const struct vt_flow_node *reader =
			&flow->nodes[flow->readers[value->first_reader + k]];

		if (!vt_flow_is_product(reader) ||
		    (reader->nr_inputs && flow->inputs[reader->first_input] == index))
			return 0;
		if (!k)
			*with = multiplied_with(flow, reader, index);
	}
	return value->nr_readers != 0;
}

/*
 * By line: what its last copy was multiplied with.  Two copies for the same data are parts of
 * something that is searched: each call of a layer has data of its own.
 */
static void note_line(struct vt_dataflow *flow, const struct vt_flow_node *node,
		      struct vt_map *lines)
{
	struct vt_key line = vt_flow_line(flow, node);
	const uint64_t *known = vt_map_find(lines, line);
	uint32_t with;

	if (!is_multiplied(flow, node->first_output, &with) || with == VT_NO_INDEX)
		return;
	vt_map_put(lines, line,
		   known && (*known == with || *known == NO_WEIGHTS) ? NO_WEIGHTS : with);
}

/* Of a kernel of generated code. */
static int is_generated(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	const struct vt_model *model = flow->model;
	const char *name = vt_model_text(model, model->calls.items[node->operator].name);

	return name && vt_operator_is_generated(name);
}

/* By size of a block: some matrix among the parameters is twice as large. */
static void find_halves(const struct vt_model *model, struct vt_map *halves)
{
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const char *shape = vt_model_text(model, tensor->shape);

		if (tensor->role == VT_ROLE_PARAMETER && shape && strchr(shape, ','))
			vt_map_put(halves,
				   (struct vt_key){ vt_block_rounding_rounded(
							    (uint64_t)tensor->size_bytes / 2),
						    0, 0 },
				   1);
	}
}

/*
 * The kernels of a graph have no lines of their own, so that a line tells nothing of them; that one
 * is multiplied by, and half as large as a parameter, does.
 */
static int is_generated_cast(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			     const struct vt_map *halves)
{
	const struct vt_key bytes = { flow->values[node->first_output].bytes, 0, 0 };

	return node->class == VT_OPERATOR_CAST && is_generated(flow, node) &&
	       vt_map_find(halves, bytes) != NULL;
}

/*
 * A kernel of generated code copies nothing from the host.  What it reads and no kernel made are
 * the arguments of its graph, which are not recorded: it casts a weight for its product.  Where a
 * mode of Python's handles operators, one copy is two of them: one calls the other.
 */
static void label_copy(struct vt_dataflow *flow, uint32_t n)
{
	uint32_t allocation = flow->values[flow->nodes[n].first_output].allocation;
	enum vt_flow_label label =
		is_generated(flow, &flow->nodes[n]) ? VT_FLOW_WEIGHT : VT_FLOW_STREAMED;

	for (uint32_t k = n + 1; k-- > 0 && k + NESTED_MAX > n;)
		if (is_from_host(&flow->nodes[k]) &&
		    flow->values[flow->nodes[k].first_output].allocation == allocation)
			flow->nodes[k].label = (uint8_t)label;
}

void vt_flow_find_streamed(struct vt_dataflow *flow)
{
	struct vt_map lines = { 0 }, halves = { 0 };

	find_halves(flow->model, &halves);
	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (is_from_host(&flow->nodes[n]))
			note_line(flow, &flow->nodes[n], &lines);
	/* What the first layer multiplies may be data: by what its line brings for the others. */
	for (uint32_t n = 0; n < flow->nr_nodes && (lines.len || halves.len); n++) {
		const struct vt_flow_node *node = &flow->nodes[n];
		const uint64_t *known;
		uint32_t with;

		if (!is_from_host(node) || !is_multiplied(flow, node->first_output, &with))
			continue;
		known = vt_map_find(&lines, vt_flow_line(flow, node));
		if ((known && *known != NO_WEIGHTS) || is_generated_cast(flow, node, &halves))
			label_copy(flow, n);
	}
	vt_map_release(&lines);
	vt_map_release(&halves);
}
