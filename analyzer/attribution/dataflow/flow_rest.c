/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

/* Norms between an operator and the layer that its input comes from. */
#define NORMS_MAX 16
#define SOURCES_MAX 48 /* nodes that a factor is computed of */
#define READERS_MAX 16 /* operators between distances and a choice of them */

/* What a region's nodes without a label are, by the strongest thing that it holds. */
struct contents {
	uint8_t has_recurrence, has_convolution, has_mixing, has_product, has_attention;
	uint8_t has_softmax; /* what is weighed or handed out by it is mixed by no layer */
};

/* Back through its region: weights that are computed are of leaves alone. */
static int is_of_base(struct vt_dataflow *flow, const struct vt_flow_node *node, uint32_t input)
{
	const struct vt_flow_node *at[SOURCES_MAX];
	unsigned nr = 0;

	vt_dataflow_walk(flow);
	at[nr++] = vt_dataflow_writer(flow, node, input);
	for (unsigned i = 0; i < nr && at[i]; i++) {
		uint32_t nr_inputs = at[i]->nr_inputs;

		/* Places are chosen by data; what is there is not: the weights of experts. */
		if (nr_inputs &&
		    (at[i]->class == VT_OPERATOR_INDEX || at[i]->class == VT_OPERATOR_EMBEDDING))
			nr_inputs = 1;
		for (uint32_t k = 0; k < nr_inputs; k++) {
			const struct vt_flow_node *writer = vt_dataflow_writer(flow, at[i], k);

			if (!writer || !vt_dataflow_see(flow, writer))
				continue;
			if (writer->region != node->region && vt_flow_node_counts(writer))
				return 1;
			if (nr < SOURCES_MAX)
				at[nr++] = writer;
		}
	}
	return 0;
}

/* Distances, of which the least are chosen. */
static int is_chosen_from(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	const struct vt_flow_node *reader;

	for (unsigned i = 0; node && i < READERS_MAX; i++) {
		for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, node, k)); k++)
			if (reader->class == VT_OPERATOR_CHOICE)
				return 1;
		node = vt_dataflow_reader(flow, node, 0);
	}
	return 0;
}

/* Positions with each other, as no weights do it, and no softmax: pairs by their thirds. */
static int mixes_positions(struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	return vt_dataflow_is_of_data(flow, node) && node->nr_inputs >= 2 &&
	       !is_chosen_from(flow, node) && is_of_base(flow, node, 0) &&
	       is_of_base(flow, node, 1);
}

static void look_at(struct vt_dataflow *flow, const struct vt_flow_node *node,
		    struct contents *contents)
{
	/* Long convolutions of sequences are products of spectra. */
	contents->has_recurrence |= node->class == VT_OPERATOR_RECURRENT || node->is_recurrent ||
				    node->class == VT_OPERATOR_FOURIER;
	contents->has_attention |= node->label == VT_FLOW_ATTENTION;
	if (node->label)
		return;
	contents->has_convolution |= node->class == VT_OPERATOR_CONVOLUTION;
	contents->has_product |= vt_dataflow_is_by_weight(flow, node);
	contents->has_mixing |= mixes_positions(flow, node);
	contents->has_softmax |= node->class == VT_OPERATOR_SOFTMAX;
}

static enum vt_flow_label label_of(const struct contents *contents)
{
	if (contents->has_recurrence)
		return VT_FLOW_MIXER;
	if (contents->has_convolution)
		return VT_FLOW_CONV;
	if (contents->has_mixing && !contents->has_softmax)
		return VT_FLOW_MIXER;
	if (contents->has_product)
		return VT_FLOW_MLP;
	return contents->has_attention ? VT_FLOW_ATTENTION : VT_FLOW_NONE;
}

static void label_regions(struct vt_dataflow *flow)
{
	struct contents *contents;
	uint32_t nr = 0;

	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (flow->nodes[n].region != VT_NO_INDEX && flow->nodes[n].region >= nr)
			nr = flow->nodes[n].region + 1;
	contents = vt_xcalloc((size_t)nr + 1, sizeof(*contents));
	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (flow->nodes[n].region != VT_NO_INDEX)
			look_at(flow, &flow->nodes[n], &contents[flow->nodes[n].region]);
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (node->region != VT_NO_INDEX && !node->label)
			node->label = (uint8_t)label_of(&contents[node->region]);
	}
	free(contents);
}

/* The label of what its first input was made by; with `behind_norms` of what that norm was of. */
static enum vt_flow_label label_of_input(const struct vt_dataflow *flow,
					 const struct vt_flow_node *node, int behind_norms)
{
	for (unsigned i = 0; i < NORMS_MAX && node->nr_inputs; i++) {
		node = vt_dataflow_writer(flow, node, 0);
		if (!node)
			break;
		if (node->label != VT_FLOW_NORM || !behind_norms)
			return node->label;
	}
	return VT_FLOW_NONE;
}

/*
 * What is bent for convolutions or products alone is of them, though its input is a sum that goes
 * on beside: the stream between layers is what a later sum reads.
 */
static enum vt_flow_label label_of_readers(const struct vt_dataflow *flow,
					   const struct vt_flow_node *node)
{
	enum vt_flow_label label = VT_FLOW_NONE;
	const struct vt_flow_node *reader;

	for (uint32_t i = 0; (reader = vt_dataflow_reader(flow, node, i)) != NULL; i++) {
		enum vt_flow_label own =
			reader->class == VT_OPERATOR_CONVOLUTION ? VT_FLOW_CONV : VT_FLOW_MLP;

		if (!vt_dataflow_is_by_weight(flow, reader) || (label && own != label) ||
		    (reader->label && reader->label != own))
			return VT_FLOW_NONE;
		label = own;
	}
	return label;
}

static enum vt_flow_label label_of_bent(const struct vt_dataflow *flow,
					const struct vt_flow_node *node)
{
	enum vt_flow_label label = label_of_input(flow, node, 1);
	enum vt_flow_label read =
		label == VT_FLOW_RESIDUAL ? label_of_readers(flow, node) : VT_FLOW_NONE;

	return read ? read : label;
}

static int is_of_embeddings(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	for (uint32_t i = 0; i < node->nr_inputs; i++) {
		const struct vt_flow_node *writer = vt_dataflow_writer(flow, node, i);

		if (writer && writer->label != VT_FLOW_EMBEDDING)
			return 0;
	}
	return 1;
}

/*
 * Of parts of one kind.  Data that joins them says nothing, unless the parts are logits: tokens
 * that are chosen follow others.  Nor do parts of no kind, if they are less than half.
 */
static enum vt_flow_label label_of_parts(const struct vt_dataflow *flow,
					 const struct vt_flow_node *node)
{
	enum vt_flow_label label = VT_FLOW_NONE;
	uint64_t other_bytes = 0;
	int has_others = 0;

	for (uint32_t i = 0; i < node->nr_inputs; i++) {
		const struct vt_flow_node *writer = vt_dataflow_writer(flow, node, i);
		const struct vt_flow_value *value = vt_dataflow_input(flow, node, i);

		if (!value->is_of_layer || (writer && !writer->label)) {
			other_bytes += value->is_of_layer ? value->bytes : 0;
			has_others = 1;
			continue;
		}
		if (!writer || (label && writer->label != label))
			return VT_FLOW_NONE;
		label = (enum vt_flow_label)writer->label;
	}
	if (other_bytes && other_bytes >= vt_dataflow_bytes(flow, node) / 2)
		return VT_FLOW_NONE;
	return has_others && label == VT_FLOW_LOGITS ? VT_FLOW_NONE : label;
}

static enum vt_flow_label label_alone(const struct vt_dataflow *flow,
				      const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_EMBEDDING:
		return VT_FLOW_EMBEDDING;
	case VT_OPERATOR_INDEX:
		return vt_dataflow_writer(flow, node, 0) ? label_of_input(flow, node, 0)
							 : VT_FLOW_EMBEDDING;
	case VT_OPERATOR_CONVOLUTION:
	case VT_OPERATOR_POOL:
	case VT_OPERATOR_UPSAMPLE:
		return VT_FLOW_CONV;
	case VT_OPERATOR_RECURRENT:
	case VT_OPERATOR_FOURIER:
		return VT_FLOW_MIXER;
	case VT_OPERATOR_PRODUCT:
		return vt_dataflow_is_by_weight(flow, node) ? VT_FLOW_MLP : VT_FLOW_NONE;
	case VT_OPERATOR_NONLINEAR:
		return label_of_bent(flow, node);
	case VT_OPERATOR_DROPOUT:
		return label_of_input(flow, node, 1);
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_CAST:
		return label_of_input(flow, node, 0);
	case VT_OPERATOR_JOIN:
		return label_of_parts(flow, node);
	case VT_OPERATOR_ADD:
		return is_of_embeddings(flow, node) ? VT_FLOW_EMBEDDING
						    : label_of_input(flow, node, 1);
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_EXPONENTIAL:
	case VT_OPERATOR_LOGARITHM:
	case VT_OPERATOR_SQUARE:
	case VT_OPERATOR_ROOT:
	case VT_OPERATOR_ACCUMULATE:
		return label_of_input(flow, node, 1);
	default:
		return VT_FLOW_NONE;
	}
}

void vt_flow_label_rest(struct vt_dataflow *flow)
{
	label_regions(flow);
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (!node->label && vt_flow_node_counts(node))
			node->label = (uint8_t)label_alone(flow, node);
	}
}
