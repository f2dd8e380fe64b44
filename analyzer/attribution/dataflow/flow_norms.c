/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

/* Operators between a reduction and the product with its root, and behind that. */
#define CHAIN_MAX 16
/* A reduction leaves at most this part. */
#define REDUCED 4

struct scale {
	struct vt_flow_node *chain[CHAIN_MAX]; /* from the product back to the reduction */
	unsigned nr;
	struct vt_flow_node *reduction;
	int has_root;
};

static int is_reduction(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	return (node->class == VT_OPERATOR_REDUCE || node->class == VT_OPERATOR_DEVIATION) &&
	       vt_dataflow_bytes(flow, node) * REDUCED <= vt_dataflow_input_bytes(flow, node);
}

/* Whether an operator by element may stand between a reduction and its use. */
static int is_between(const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_ADD:
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_SQUARE:
	case VT_OPERATOR_ROOT:
	case VT_OPERATOR_CAST:
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_NONLINEAR:
	case VT_OPERATOR_EXPONENTIAL:
	case VT_OPERATOR_LOGARITHM:
	case VT_OPERATOR_OTHER:
		return 1;
	default:
		return 0;
	}
}

/* Back from one operand of a product to a reduction, by way of a root. */
static int find_scale(const struct vt_dataflow *flow, struct vt_flow_node *from,
		      struct scale *scale)
{
	*scale = (struct scale){ .chain = { from }, .nr = 1 };
	for (unsigned i = 0; i < scale->nr; i++) {
		struct vt_flow_node *node = scale->chain[i];

		scale->has_root |= node->class == VT_OPERATOR_ROOT ||
				   node->class == VT_OPERATOR_SQUARE ||
				   node->class == VT_OPERATOR_DEVIATION;
		if (is_reduction(flow, node)) {
			scale->reduction = node;
			continue;
		}
		if (!is_between(node))
			return 0;
		for (uint32_t k = 0; k < node->nr_inputs; k++) {
			struct vt_flow_node *writer = vt_dataflow_writer(flow, node, k);

			if (!writer)
				continue;
			if (scale->nr == CHAIN_MAX)
				return 0;
			scale->chain[scale->nr++] = writer;
		}
	}
	return scale->has_root && scale->reduction;
}

static int is_square(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	return node->class == VT_OPERATOR_SQUARE ||
	       (node->class == VT_OPERATOR_MULTIPLY && node->nr_inputs == 2 &&
		flow->inputs[node->first_input] == flow->inputs[node->first_input + 1]);
}

/* What was taken from something is its mean; NULL: it is not that. */
static struct vt_flow_node *find_mean(const struct vt_dataflow *flow,
				      const struct vt_flow_node *node)
{
	struct vt_flow_node *mean;

	if (node->class != VT_OPERATOR_ADD || node->nr_inputs != 2)
		return NULL;
	mean = vt_dataflow_writer(flow, node, 1);
	if (!mean || !is_reduction(flow, mean) ||
	    vt_dataflow_origin(flow, flow->inputs[mean->first_input]) !=
		    vt_dataflow_origin(flow, flow->inputs[node->first_input]))
		return NULL;
	return mean;
}

/* What a reduction is of: squares, and what the mean was taken from. */
static void label_reduced(const struct vt_dataflow *flow, const struct vt_flow_node *reduction)
{
	const struct vt_flow_node *at = reduction;

	for (unsigned i = 0; i < CHAIN_MAX && at->nr_inputs; i++) {
		struct vt_flow_node *node = vt_dataflow_writer(flow, at, 0), *mean;

		if (!node)
			return;
		mean = find_mean(flow, node);
		if (mean)
			mean->label = VT_FLOW_NORM;
		else if (node->class != VT_OPERATOR_CAST && !is_square(flow, node))
			return;
		if (node->class != VT_OPERATOR_CAST)
			node->label = VT_FLOW_NORM;
		at = node;
	}
}

/* Scale and shift are leaves. */
static int is_affine(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	unsigned nr_leaves = 0;

	if ((node->class != VT_OPERATOR_MULTIPLY && node->class != VT_OPERATOR_ADD) ||
	    node->nr_inputs != 2)
		return 0;
	for (uint32_t i = 0; i < node->nr_inputs; i++)
		nr_leaves += vt_dataflow_writer(flow, node, i) == NULL;
	return nr_leaves == 1;
}

static void label_behind(struct vt_dataflow *flow, struct vt_flow_node *product)
{
	struct vt_flow_node *found[CHAIN_MAX] = { product };
	unsigned nr = 1;

	for (unsigned i = 0; i < nr; i++) {
		struct vt_flow_node *reader;

		found[i]->label = VT_FLOW_NORM;
		for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, found[i], k)); k++)
			if (nr < CHAIN_MAX && vt_flow_node_counts(reader) && !reader->label &&
			    (is_affine(flow, reader) || reader->class == VT_OPERATOR_CAST))
				found[nr++] = reader;
	}
}

static void label_by_hand(struct vt_dataflow *flow, struct vt_flow_node *product)
{
	struct scale scale;

	for (uint32_t i = 0; i < product->nr_inputs; i++) {
		struct vt_flow_node *writer = vt_dataflow_writer(flow, product, i);

		if (!writer || vt_dataflow_input(flow, product, i)->bytes * REDUCED >
				       vt_dataflow_bytes(flow, product))
			continue;
		if (!find_scale(flow, writer, &scale))
			continue;
		for (unsigned k = 0; k < scale.nr; k++)
			scale.chain[k]->label = VT_FLOW_NORM;
		label_reduced(flow, scale.reduction);
		for (uint32_t k = 0; k < product->nr_inputs; k++) {
			struct vt_flow_node *centred = vt_dataflow_writer(flow, product, k);

			if (centred && find_mean(flow, centred))
				centred->label = VT_FLOW_NORM;
		}
		label_behind(flow, product);
		return;
	}
}

static int is_read_by_norms_alone(struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	const struct vt_flow_node *reader;
	uint32_t i;

	for (i = 0; (reader = vt_dataflow_reader(flow, node, i)); i++)
		if (reader->label != VT_FLOW_NORM)
			return 0;
	return i != 0;
}

void vt_flow_label_norms(struct vt_dataflow *flow)
{
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (!vt_flow_node_counts(node) || node->label)
			continue;
		if (node->class == VT_OPERATOR_NORM)
			node->label = VT_FLOW_NORM;
		else if (node->class == VT_OPERATOR_MULTIPLY)
			label_by_hand(flow, node);
	}
	for (uint32_t n = flow->nr_nodes; n-- > 0;) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (node->class == VT_OPERATOR_CAST && !node->label && vt_flow_node_counts(node) &&
		    is_read_by_norms_alone(flow, node))
			node->label = VT_FLOW_NORM;
	}
}
