/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#define SCORES_MAX 32  /* operators between a product and its softmax */
#define SPAN_MAX   512 /* operators of one attention */
#define POOLED_MAX 24  /* operators between what is pooled and a softmax of it */

struct span {
	struct vt_dataflow *flow;
	struct vt_flow_nodes nodes;
	int has_convolutions; /* among what it was computed of */
	uint32_t region;
	uint32_t pooled; /* value that it begins with; VT_NO_INDEX: none, weights are before it */
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

/* A reader sums it: over a dimension, or by index. */
static int is_summed(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	const struct vt_flow_node *reader;

	for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, node, k)); k++)
		if (reader->class == VT_OPERATOR_REDUCE || reader->class == VT_OPERATOR_ACCUMULATE)
			return 1;
	return 0;
}

/* A product of data by data; spelled out, one by element that is then summed. */
static int mixes_data(struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	if (vt_dataflow_is_of_data(flow, node))
		return 1;
	return node->class == VT_OPERATOR_MULTIPLY && node->label != VT_FLOW_NORM &&
	       node->nr_inputs == 2 && vt_dataflow_writer(flow, node, 0) &&
	       vt_dataflow_writer(flow, node, 1) &&
	       flow->inputs[node->first_input] != flow->inputs[node->first_input + 1] &&
	       is_summed(flow, node);
}

/*
 * From a softmax on to what weighs data by its result, or back to the scores that it is of: the
 * products of data, or what is gathered and summed by index, over edges.  NULL: there is none.
 */
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
			if (mixes_data(flow, next) ||
			    (!is_forward && next->class == VT_OPERATOR_ACCUMULATE))
				return next;
			if (nr < SCORES_MAX && is_by_element(next))
				at[nr++] = next;
		}
	}
	return NULL;
}

/*
 * The operand of a weighing that is not the weights, where the scores were computed of it, or of
 * what its product by weights was given: pooling.  What experts made is none.  VT_NO_INDEX: no.
 */
static uint32_t find_pooled(struct vt_dataflow *flow, const struct vt_flow_node *softmax,
			    const struct vt_flow_node *weighing)
{
	const struct vt_flow_node *at[POOLED_MAX] = { softmax };
	uint32_t values[4], nr_values = 0;
	unsigned nr = 1;

	for (uint32_t k = 0; k < weighing->nr_inputs && k < 2; k++) {
		uint32_t value = vt_dataflow_origin(flow, flow->inputs[weighing->first_input + k]);
		uint32_t writer = flow->values[value].writer;

		values[nr_values++] = value;
		if (writer != VT_NO_INDEX && vt_dataflow_is_by_weight(flow, &flow->nodes[writer]))
			values[nr_values++] = vt_dataflow_origin(
				flow, flow->inputs[flow->nodes[writer].first_input]);
	}
	vt_dataflow_walk(flow);
	for (unsigned i = 0; i < nr; i++)
		for (uint32_t k = 0; k < at[i]->nr_inputs; k++) {
			uint32_t input = flow->inputs[at[i]->first_input + k];
			const struct vt_flow_node *writer = vt_dataflow_writer(flow, at[i], k);

			for (uint32_t v = 0; v < nr_values && i; v++)
				if (vt_dataflow_origin(flow, input) == values[v])
					return values[v];
			if (writer && nr < POOLED_MAX && vt_dataflow_see(flow, writer))
				at[nr++] = writer;
		}
	return VT_NO_INDEX;
}

/* Whether scores are made of what is pooled by it, and not of something that came before. */
static int is_of_pooled(const struct span *span, const struct vt_flow_node *node)
{
	const struct vt_flow_node *at[POOLED_MAX] = { node };
	unsigned nr = 1;

	for (unsigned i = 0; i < nr && span->pooled != VT_NO_INDEX; i++)
		for (uint32_t k = 0; k < at[i]->nr_inputs; k++) {
			const struct vt_flow_node *writer =
				vt_dataflow_writer(span->flow, at[i], k);

			if (vt_dataflow_origin(span->flow,
					       span->flow->inputs[at[i]->first_input + k]) ==
			    span->pooled)
				return 1;
			if (writer && nr < POOLED_MAX)
				at[nr++] = writer;
		}
	return 0;
}

/* What was computed before the nodes from number `i` on, back to products by weights. */
static void take_sources(struct span *span, size_t i)
{
	for (; i < span->nodes.len; i++) {
		const struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];

		if (vt_dataflow_is_by_weight(span->flow, node) && !is_of_pooled(span, node))
			continue;
		for (uint32_t k = 0; k < node->nr_inputs; k++) {
			const struct vt_flow_node *writer =
				vt_dataflow_writer(span->flow, node, k);

			if (writer && writer->class != VT_OPERATOR_EMBEDDING &&
			    writer->class != VT_OPERATOR_RECURRENT && may_take(span, writer) &&
			    vt_dataflow_origin(span->flow,
					       span->flow->inputs[node->first_input + k]) !=
				    span->pooled)
				take(span, writer);
		}
	}
}

/* A layer of another kind: a projection by a convolution is one where queries are none. */
static int is_other_layer(const struct span *span, const struct vt_flow_node *node)
{
	if (node->class == VT_OPERATOR_CONVOLUTION)
		return !span->has_convolutions;
	return node->class == VT_OPERATOR_RECURRENT || node->class == VT_OPERATOR_ATTENTION;
}

/* The next layer: nothing is bent right behind the last product of an attention. */
static int is_bent(const struct vt_dataflow *flow, const struct vt_flow_node *product)
{
	const struct vt_flow_node *reader;

	for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, product, k)); k++)
		if (reader->class == VT_OPERATOR_NONLINEAR)
			return vt_dataflow_is_by_weight(flow, product);
	return 0;
}

/*
 * What became of it, through norms up to the next product by weights and what only hands that on;
 * with gates that it is multiplied by.
 */
static void take_results(struct span *span, const struct vt_flow_node *last)
{
	size_t first = span->nodes.len, end;
	struct vt_flow_node *reader;

	for (uint32_t k = 0; (reader = vt_dataflow_reader(span->flow, last, k)); k++)
		if (may_take(span, reader) && !is_other_layer(span, reader) &&
		    !is_bent(span->flow, reader))
			take(span, reader);
	for (size_t i = first; i < span->nodes.len; i++) {
		const struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];
		int is_output = vt_dataflow_is_by_weight(span->flow, node);

		for (uint32_t k = 0; (reader = vt_dataflow_reader(span->flow, node, k)); k++) {
			if (!may_take(span, reader) || is_other_layer(span, reader) ||
			    is_bent(span->flow, reader) ||
			    (reader->label == VT_FLOW_NORM && span->region == VT_NO_INDEX))
				continue;
			if (!is_output && !vt_dataflow_is_of_data(span->flow, reader))
				take(span, reader);
			else if (reader->class == VT_OPERATOR_DROPOUT ||
				 reader->class == VT_OPERATOR_CAST ||
				 reader->class == VT_OPERATOR_COPY)
				take(span, reader);
		}
	}
	end = span->nodes.len;
	for (size_t i = first; i < end; i++) {
		const struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];

		if (node->class == VT_OPERATOR_MULTIPLY && node->nr_inputs == 2)
			take_sources(span, i);
	}
}

static void label_span(struct span *span, const struct vt_flow_node *last)
{
	span->nodes.len = 0;
	span->region = last->region;
	vt_dataflow_walk(span->flow);
	take(span, last);
	take_sources(span, 0);
	span->has_convolutions = 0;
	for (size_t i = 0; i < span->nodes.len; i++)
		span->has_convolutions |= span->flow->nodes[span->nodes.items[i]].class ==
					  VT_OPERATOR_CONVOLUTION;
	take_results(span, last);
	for (size_t i = 0; i < span->nodes.len; i++) {
		struct vt_flow_node *node = &span->flow->nodes[span->nodes.items[i]];

		if (node->label == VT_FLOW_NONE)
			node->label = VT_FLOW_ATTENTION;
	}
}

/* A product of data of which another one is, and no softmax between: linear attention. */
static int is_chained(struct vt_dataflow *flow, const struct vt_flow_node *product)
{
	const struct vt_flow_node *at[SCORES_MAX] = { product };
	unsigned nr = 1;

	vt_dataflow_walk(flow);
	for (unsigned i = 0; i < nr; i++)
		for (uint32_t k = 0; k < at[i]->nr_inputs; k++) {
			struct vt_flow_node *writer = vt_dataflow_writer(flow, at[i], k);

			if (!writer || writer->region != product->region || writer->label ||
			    writer->class == VT_OPERATOR_NONLINEAR ||
			    !vt_dataflow_see(flow, writer))
				continue;
			if (writer->class == VT_OPERATOR_PRODUCT &&
			    vt_dataflow_is_of_data(flow, writer))
				return 1;
			if (nr < SCORES_MAX && is_by_element(writer))
				at[nr++] = writer;
		}
	return 0;
}

/* What an attention weighs its values by; NULL: the node is of none. */
static const struct vt_flow_node *find_weighing(struct span *span, struct vt_flow_node *node)
{
	struct vt_dataflow *flow = span->flow;
	const struct vt_flow_node *weighing;

	span->pooled = VT_NO_INDEX;
	if (node->class == VT_OPERATOR_ATTENTION)
		return node;
	if (node->class == VT_OPERATOR_PRODUCT)
		return !node->label && vt_dataflow_is_of_data(flow, node) &&
				       is_chained(flow, node) ?
			       node :
			       NULL;
	if (node->class != VT_OPERATOR_SOFTMAX)
		return NULL;
	weighing = find_product(flow, node, 1);
	if (!weighing || find_product(flow, node, 0))
		return weighing;
	span->pooled = find_pooled(flow, node, weighing);
	return span->pooled == VT_NO_INDEX ? NULL : weighing;
}

void vt_flow_label_attention(struct vt_dataflow *flow)
{
	struct span span = { .flow = flow };

	for (int is_linear = 0; is_linear < 2; is_linear++)
		for (uint32_t n = 0; n < flow->nr_nodes; n++) {
			struct vt_flow_node *node = &flow->nodes[n];
			const struct vt_flow_node *last;

			if (!vt_flow_node_counts(node) || node->label == VT_FLOW_LOGITS ||
			    (node->class == VT_OPERATOR_PRODUCT) != is_linear)
				continue;
			last = find_weighing(&span, node);
			if (last)
				label_span(&span, last);
		}
	vt_vector_release(&span.nodes);
}
