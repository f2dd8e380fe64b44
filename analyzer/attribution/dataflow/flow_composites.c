/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

/* Operators between an exponential, the sum of it, and what uses both. */
#define STEPS_MAX 16

static int is_sum(const struct vt_flow_node *node)
{
	return node->class == VT_OPERATOR_REDUCE || node->class == VT_OPERATOR_ACCUMULATE;
}

/* What may lie between: masks, small constants, indices, casts. */
static int is_step(const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_ADD:
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_CAST:
	case VT_OPERATOR_COPY:
	case VT_OPERATOR_DROPOUT:
	case VT_OPERATOR_INDEX:
	case VT_OPERATOR_NONLINEAR: /* clamp_min */
	case VT_OPERATOR_OTHER:
		return 1;
	default:
		return is_sum(node);
	}
}

/*
 * Back from a value to the nearest nodes of a class; *has_sum: by way of a sum.  With `wanted` to
 * that node alone.  NULL: there is none within reach.
 */
static struct vt_flow_node *find_before(struct vt_dataflow *flow, uint32_t value,
					enum vt_operator_class class,
					const struct vt_flow_node *wanted, int *has_sum)
{
	struct {
		struct vt_flow_node *node;
		int has_sum;
	} at[STEPS_MAX];
	uint32_t writer = flow->values[value].writer;
	unsigned nr = 0;

	*has_sum = 0;
	if (writer == VT_NO_INDEX)
		return NULL;
	vt_dataflow_walk(flow);
	at[nr].node = &flow->nodes[writer];
	at[nr++].has_sum = 0;
	for (unsigned i = 0; i < nr; i++) {
		struct vt_flow_node *node = at[i].node;

		if (wanted ? node == wanted : node->class == class) {
			*has_sum = at[i].has_sum;
			return node;
		}
		if (!is_step(node))
			continue;
		for (uint32_t k = 0; k < node->nr_inputs && nr < STEPS_MAX; k++) {
			struct vt_flow_node *before = vt_dataflow_writer(flow, node, k);

			if (!before || !vt_dataflow_see(flow, before))
				continue;
			at[nr].node = before;
			at[nr++].has_sum = at[i].has_sum || is_sum(node);
		}
	}
	return NULL;
}

/* An exponential divided by the sum of it. */
static int is_softmax(struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	if (node->class != VT_OPERATOR_MULTIPLY || node->nr_inputs != 2)
		return 0;
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t part = flow->inputs[node->first_input + k];
		uint32_t total = flow->inputs[node->first_input + 1 - k];
		const struct vt_flow_node *exponential;
		int has_sum;

		exponential = find_before(flow, part, VT_OPERATOR_EXPONENTIAL, NULL, &has_sum);
		if (exponential && !has_sum &&
		    find_before(flow, total, VT_OPERATOR_EXPONENTIAL, exponential, &has_sum) &&
		    has_sum)
			return 1;
	}
	return 0;
}

/* exp(x - logsumexp(x)), exp(log_softmax(x)) */
static int is_softmax_of_logarithms(const struct vt_dataflow *flow,
				    const struct vt_flow_node *node)
{
	const struct vt_flow_node *before, *taken;

	if (node->class != VT_OPERATOR_EXPONENTIAL || node->nr_inputs != 1)
		return 0;
	before = vt_dataflow_writer(flow, node, 0);
	if (!before || before->class == VT_OPERATOR_LOSS)
		return before != NULL;
	if (before->class != VT_OPERATOR_ADD || before->nr_inputs != 2)
		return 0;
	taken = vt_dataflow_writer(flow, before, 1);
	return taken && taken->class == VT_OPERATOR_NORMALISER &&
	       vt_dataflow_origin(flow, flow->inputs[before->first_input]) ==
		       vt_dataflow_origin(flow, flow->inputs[taken->first_input]);
}

void vt_flow_find_composites(struct vt_dataflow *flow)
{
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];
		int has_sum;

		if (!vt_flow_node_counts(node))
			continue;
		if (is_softmax(flow, node) || is_softmax_of_logarithms(flow, node)) {
			node->class = VT_OPERATOR_SOFTMAX;
		} else if (node->class == VT_OPERATOR_LOGARITHM && node->nr_inputs == 1) {
			uint32_t of = flow->inputs[node->first_input];

			if (find_before(flow, of, VT_OPERATOR_SOFTMAX, NULL, &has_sum))
				node->class = VT_OPERATOR_LOSS;
			else if (find_before(flow, of, VT_OPERATOR_EXPONENTIAL, NULL, &has_sum) &&
				 has_sum)
				node->class = VT_OPERATOR_NORMALISER;
		}
	}
}
