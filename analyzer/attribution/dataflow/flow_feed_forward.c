/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

/* What a region with convolutions holds besides. */
struct branch {
	uint64_t bytes;   /* of the largest result of a convolution */
	uint8_t is_other; /* a loop over time, spectra or attention decide on the rest of it */
};

struct search {
	struct vt_dataflow *flow;
	struct branch *branches; /* by region */
	uint32_t nr_branches;
	uint32_t region; /* of the product that is looked at */
	struct vt_flow_nodes found;
};

static void look_at(struct search *s, const struct vt_flow_node *node)
{
	struct branch *branch = &s->branches[node->region];
	uint64_t bytes = vt_dataflow_bytes(s->flow, node);

	branch->is_other |= node->class == VT_OPERATOR_RECURRENT || node->is_recurrent ||
			    node->class == VT_OPERATOR_FOURIER || node->label == VT_FLOW_ATTENTION;
	if (node->class == VT_OPERATOR_CONVOLUTION && !node->label && bytes > branch->bytes)
		branch->bytes = bytes;
}

static void find_branches(struct search *s)
{
	const struct vt_dataflow *flow = s->flow;

	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (flow->nodes[n].region != VT_NO_INDEX && flow->nodes[n].region >= s->nr_branches)
			s->nr_branches = flow->nodes[n].region + 1;
	s->branches = vt_xcalloc((size_t)s->nr_branches + 1, sizeof(*s->branches));
	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (flow->nodes[n].region != VT_NO_INDEX)
			look_at(s, &flow->nodes[n]);
}

static int is_linear(const struct search *s, const struct vt_flow_node *node)
{
	return node->class == VT_OPERATOR_PRODUCT && !node->label &&
	       vt_dataflow_is_by_weight(s->flow, node);
}

/*
 * The second layer: its result is at each position, in a branch that convolves.  What squeezes all
 * positions into one gate for each channel is of another size.
 */
static int may_be_second(const struct search *s, const struct vt_flow_node *node)
{
	const struct branch *branch;

	if (node->region == VT_NO_INDEX || !is_linear(s, node) || !vt_flow_node_counts(node))
		return 0;
	branch = &s->branches[node->region];
	return branch->bytes && !branch->is_other &&
	       vt_dataflow_bytes(s->flow, node) * 4 >= branch->bytes;
}

/* Pushes what its data comes from; 0: from elsewhere than this branch. */
static int push_inputs(struct search *s, const struct vt_flow_node *node)
{
	for (uint32_t i = 0; i < node->nr_inputs; i++) {
		const struct vt_flow_node *writer = vt_dataflow_writer(s->flow, node, i);

		if (!writer || writer->makes_leaf)
			continue;
		if (writer->region != s->region || writer->class == VT_OPERATOR_CONVOLUTION)
			return 0;
		if (vt_dataflow_see(s->flow, writer))
			vt_vector_push(&s->found, vt_dataflow_index(s->flow, writer));
	}
	return 1;
}

/* Back from the second layer, by nonlinear operators, to the first and to nothing else. */
static int find_first(struct search *s, const struct vt_flow_node *second)
{
	int is_bent = 0, has_first = 0;

	s->region = second->region;
	s->found.len = 0;
	vt_dataflow_walk(s->flow);
	if (!push_inputs(s, second))
		return 0;
	for (size_t i = 0; i < s->found.len; i++) {
		const struct vt_flow_node *node = &s->flow->nodes[s->found.items[i]];

		is_bent |= node->class == VT_OPERATOR_NONLINEAR;
		if (is_linear(s, node))
			has_first = 1;
		else if (!push_inputs(s, node))
			return 0;
	}
	return is_bent && has_first;
}

/* A cast that nothing else reads is made for the layer. */
static void label_cast(struct search *s, const struct vt_flow_node *first)
{
	struct vt_flow_node *cast = first->nr_inputs ? vt_dataflow_writer(s->flow, first, 0) : NULL;

	if (cast && cast->class == VT_OPERATOR_CAST && !cast->label &&
	    !vt_dataflow_reader(s->flow, cast, 1))
		cast->label = VT_FLOW_MLP;
}

static void label_layers(struct search *s, struct vt_flow_node *second)
{
	for (size_t i = 0; i < s->found.len; i++) {
		struct vt_flow_node *node = &s->flow->nodes[s->found.items[i]];

		if (is_linear(s, node))
			label_cast(s, node);
		if (!node->label)
			node->label = VT_FLOW_MLP;
	}
	second->label = VT_FLOW_MLP;
}

/* By element, of what the second layer made and nothing else: a scale, a dropout, a copy. */
static int is_behind(const struct search *s, const struct vt_flow_node *node)
{
	uint32_t nr = 0;

	switch (node->class) {
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_CAST:
	case VT_OPERATOR_DROPOUT:
		break;
	default:
		return 0;
	}
	for (uint32_t i = 0; i < node->nr_inputs; i++) {
		const struct vt_flow_node *writer = vt_dataflow_writer(s->flow, node, i);

		if (!writer || writer->makes_leaf)
			continue;
		if (writer->label != VT_FLOW_MLP || writer->region != node->region)
			return 0;
		nr++;
	}
	return nr > 0;
}

void vt_flow_label_feed_forwards(struct vt_dataflow *flow)
{
	struct search s = { .flow = flow };

	find_branches(&s);
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (may_be_second(&s, node) && find_first(&s, node))
			label_layers(&s, node);
		else if (node->region != VT_NO_INDEX && !node->label && vt_flow_node_counts(node) &&
			 s.branches[node->region].bytes && is_behind(&s, node))
			node->label = VT_FLOW_MLP;
	}
	vt_vector_release(&s.found);
	free(s.branches);
}
