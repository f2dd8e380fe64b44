/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/flow_passes.h"

#define SCORES_MAX 32  /* operators between a product and its softmax */
#define SPAN_MAX   512 /* operators of one attention */

struct span {
	struct vt_dataflow *flow;
	struct vt_flow_nodes nodes;
	uint32_t region;
};

static int is_by_element(const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_PRODUCT:
	case VT_OPERATOR_CONVOLUTION:
	case VT_OPERATOR_EMBEDDING:
	case VT_OPERATOR_ATTENTION:
	case VT_OPERATOR_RECURRENT:
	case VT_OPERATOR_SOFTMAX:
	case VT_OPERATOR_CHOICE:
		return 0;
	default:
		return 1;
	}
}

static int may_take(const struct span *span, const struct vt_flow_node *node)
{
	return vt_flow_node_counts(node) && node->region == span->region &&
	       node->label != VT_FLOW_LOGITS && node->label != VT_FLOW_RESIDUAL &&
	       span->nodes.len < SPAN_MAX;
}

static void take(struct span *span, const struct vt_flow_node *node)
{
	if (vt_dataflow_see(span->flow, node))
		vt_vector_push(&span->nodes, vt_dataflow_index(span->flow, node));
}

/* The product of data that a softmax is of, or that takes its result; NULL: none. */
static struct vt_flow_node *find_product(struct vt_dataflow *flow, struct vt_flow_node *softmax,
					 int is_forward)
{
	struct vt_flow_node *at[SCORES_MAX] = { softmax }, *next;
	unsigned nr = 1;

	vt_dataflow_walk(flow);
	for (unsigned i = 0; i < nr; i++) {
		uint32_t nr_next = is_forward ? UINT32_MAX : at[i]->nr_inputs;

		for (uint32_t k = 0; k < nr_next; k++) {
			next = is_forward ? vt_dataflow_reader(flow, at[i], k)
					  : vt_dataflow_writer(flow, at[i], k);
			if (!next && is_forward)
				break;
			if (!next || next->region != softmax->region ||
			    !vt_flow_node_counts(next) || !vt_dataflow_see(flow, next))
				continue;
			if (vt_dataflow_is_of_data(flow, next))
				return next;
			if (nr < SCORES_MAX && is_by_element(next))
				at[nr++] = next;
		}
	}
	return NULL;
}

/* What the operator was computed from, back to products by weights. */
static void take_sources(struct span *span, const struct vt_flow_node *last)
{
	take(span, last);
	for (size_t i = 0; i < span->nodes.len; i++) {
		const struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];

		if (vt_dataflow_is_by_weight(span->flow, node))
			continue;
		for (uint32_t k = 0; k < node->nr_inputs; k++) {
			const struct vt_flow_node *writer =
				vt_dataflow_writer(span->flow, node, k);

			if (writer && writer->class != VT_OPERATOR_EMBEDDING &&
			    may_take(span, writer))
				take(span, writer);
		}
	}
}

/* What became of it, up to the next product by weights and what only hands that on. */
static void take_results(struct span *span, const struct vt_flow_node *last)
{
	size_t first = span->nodes.len;
	struct vt_flow_node *reader;

	for (uint32_t k = 0; (reader = vt_dataflow_reader(span->flow, last, k)); k++)
		if (may_take(span, reader))
			take(span, reader);
	for (size_t i = first; i < span->nodes.len; i++) {
		const struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];
		int is_output = vt_dataflow_is_by_weight(span->flow, node);

		for (uint32_t k = 0; (reader = vt_dataflow_reader(span->flow, node, k)); k++) {
			if (!may_take(span, reader) || reader->label == VT_FLOW_NORM)
				continue;
			if (!is_output && !vt_dataflow_is_of_data(span->flow, reader))
				take(span, reader);
			else if (reader->class == VT_OPERATOR_DROPOUT ||
				 reader->class == VT_OPERATOR_CAST ||
				 reader->class == VT_OPERATOR_COPY)
				take(span, reader);
		}
	}
}

static void label_span(struct span *span, const struct vt_flow_node *last)
{
	span->nodes.len = 0;
	span->region = last->region;
	vt_dataflow_walk(span->flow);
	take_sources(span, last);
	take_results(span, last);
	for (size_t i = 0; i < span->nodes.len; i++) {
		struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];

		if (node->label == VT_FLOW_NONE)
			node->label = VT_FLOW_ATTENTION;
	}
}

void vt_flow_label_attention(struct vt_dataflow *flow)
{
	struct span span = { .flow = flow };

	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n], *last = node;

		if (!vt_flow_node_counts(node) || node->label == VT_FLOW_LOGITS)
			continue;
		if (node->class == VT_OPERATOR_SOFTMAX)
			last = find_product(flow, node, 0) ? find_product(flow, node, 1) : NULL;
		else if (node->class != VT_OPERATOR_ATTENTION)
			continue;
		if (last)
			label_span(&span, last);
	}
	vt_vector_release(&span.nodes);
}
