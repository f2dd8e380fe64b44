/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

/* Operators between a product and the sum with positions. */
#define CHAIN_MAX 8
/* A table of positions is larger than a bias, even one of twice the item size. */
#define BIAS_MARGIN 4.0

struct chain {
	struct vt_flow_node *nodes[CHAIN_MAX]; /* from the sum back to the product */
	unsigned nr;
};

/* What it passes on, if nothing else than leaves is joined to it; NULL: it computes. */
static struct vt_flow_node *passed_on(const struct vt_dataflow *flow,
				      const struct vt_flow_node *node)
{
	struct vt_flow_node *only = NULL;

	switch (node->class) {
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_CAST:
	case VT_OPERATOR_DROPOUT:
	case VT_OPERATOR_JOIN:
	case VT_OPERATOR_NORM:
		break;
	default:
		return NULL;
	}
	for (uint32_t i = 0; i < node->nr_inputs; i++) {
		struct vt_flow_node *writer = vt_dataflow_writer(flow, node, i);

		if (writer && only)
			return NULL;
		if (writer)
			only = writer;
	}
	return only;
}

/* Multiplies what no layer made. */
static int is_projection(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	if (!vt_flow_is_product(node) || !vt_flow_node_counts(node))
		return 0;
	for (uint32_t i = 0; i < node->nr_inputs; i++)
		if (vt_dataflow_writer(flow, node, i) ||
		    vt_dataflow_input(flow, node, i)->is_of_layer)
			return 0;
	return node->nr_inputs >= 2;
}

static const struct vt_flow_node *find_projection(const struct vt_dataflow *flow,
						  struct vt_flow_node *node, struct chain *chain)
{
	for (chain->nr = 0; node && chain->nr < CHAIN_MAX; node = passed_on(flow, node)) {
		chain->nodes[chain->nr++] = node;
		if (is_projection(flow, node))
			return node;
	}
	return NULL;
}

/*
 * Whether a leaf that is added to what was projected has a row for each position, and not one for
 * all.  [positions, inner] by [inner, width]: weight * made / data is the square of the bytes of
 * one row, for items of one size.
 */
static int has_positions(const struct vt_dataflow *flow, const struct vt_flow_node *projection,
			 uint64_t leaf_bytes)
{
	double data = (double)vt_dataflow_input(flow, projection, 0)->bytes;
	double weight = (double)vt_dataflow_input(flow, projection, 1)->bytes;
	double made = (double)vt_dataflow_bytes(flow, projection);
	double least = BIAS_MARGIN * BIAS_MARGIN * weight * made / data;

	return (double)leaf_bytes < made && (double)leaf_bytes * (double)leaf_bytes > least;
}

/* Positions: a leaf of rows, or what was looked up. */
static int is_positions(const struct vt_dataflow *flow, const struct vt_flow_node *sum, uint32_t i,
			const struct vt_flow_node *projection)
{
	const struct vt_flow_node *writer = vt_dataflow_writer(flow, sum, i);

	if (writer)
		return writer->class == VT_OPERATOR_EMBEDDING;
	return has_positions(flow, projection, vt_dataflow_input(flow, sum, i)->bytes);
}

void vt_flow_label_projections(struct vt_dataflow *flow)
{
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		const struct vt_flow_node *sum = &flow->nodes[n];

		if (sum->class != VT_OPERATOR_ADD || sum->nr_inputs != 2 ||
		    !vt_flow_node_counts(sum))
			continue;
		for (uint32_t i = 0; i < 2; i++) {
			struct chain chain;
			const struct vt_flow_node *projection =
				find_projection(flow, vt_dataflow_writer(flow, sum, i), &chain);

			if (!projection || !is_positions(flow, sum, 1 - i, projection))
				continue;
			for (unsigned k = 0; k < chain.nr; k++)
				if (!chain.nodes[k]->label)
					chain.nodes[k]->label = VT_FLOW_EMBEDDING;
		}
	}
}
