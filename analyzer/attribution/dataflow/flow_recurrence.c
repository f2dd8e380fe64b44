/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#include "analyzer/base/map.h"

/* Operators of one iteration of a loop over time: more are layers. */
#define ITERATION_MAX 64
/* Turns that make a recurrence: the fewest that a stack of equal layers is not taken for. */
#define ITERATIONS_MIN 4

struct loops {
	struct vt_dataflow *flow;
	struct vt_map last;                 /* line -> its last node */
	struct vt_map recurrent;            /* lines */
	uint32_t *nr_iterations;	    /* by node: of the loop that it ends an iteration of */
	uint32_t *nr_backward;	    /* by node: nodes of backward passes before it */
	struct vt_flow_nodes iteration;
};

struct vt_key vt_flow_line(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	const struct vt_operator_call *call = &flow->model->calls.items[node->operator];

	return (struct vt_key){ call->name, call->python_stack, call->thread };
}

static struct vt_key line_of(const struct vt_dataflow *flow, uint32_t n)
{
	return vt_flow_line(flow, &flow->nodes[n]);
}

/* The operators of an iteration: after `first`, up to `last`, which is computed of it. */
static int walk_iteration(struct loops *l, uint32_t first, uint32_t last)
{
	struct vt_dataflow *flow = l->flow;
	int is_of_first = 0;

	l->iteration.len = 0;
	vt_vector_push(&l->iteration, last);
	vt_dataflow_walk(flow);
	vt_dataflow_see(flow, &flow->nodes[last]);
	for (size_t i = 0; i < l->iteration.len; i++) {
		const struct vt_flow_node *node = &flow->nodes[l->iteration.items[i]];

		if (l->iteration.len > ITERATION_MAX)
			return 0;
		for (uint32_t k = 0; k < node->nr_inputs; k++) {
			struct vt_flow_node *writer = vt_dataflow_writer(flow, node, k);

			if (!writer || vt_dataflow_index(flow, writer) < first)
				continue;
			is_of_first |= vt_dataflow_index(flow, writer) == first;
			if (vt_dataflow_index(flow, writer) > first &&
			    vt_dataflow_see(flow, writer))
				vt_vector_push(&l->iteration, vt_dataflow_index(flow, writer));
		}
	}
	return is_of_first;
}

/* Whether the iteration before read it too. */
static int was_read(const struct vt_dataflow *flow, uint32_t value, uint32_t from, uint32_t to)
{
	const struct vt_flow_value *v = &flow->values[value];

	for (uint32_t i = 0; i < v->nr_readers; i++)
		if (flow->readers[v->first_reader + i] > from &&
		    flow->readers[v->first_reader + i] <= to)
			return 1;
	return 0;
}

/* An iteration multiplies, and by the weights that the iteration before multiplied by. */
static int is_of_a_recurrence(const struct loops *l, uint32_t first, uint32_t last)
{
	const struct vt_dataflow *flow = l->flow;
	uint32_t length = 2 * (last - first);
	uint32_t from = first > length ? first - length : 0;
	int multiplies = 0;

	for (size_t i = 0; i < l->iteration.len; i++) {
		const struct vt_flow_node *node = &flow->nodes[l->iteration.items[i]];
		int is_product = vt_flow_is_product(node);

		if (node->class == VT_OPERATOR_ATTENTION)
			return 0;
		multiplies |= is_product ||
			      (node->class == VT_OPERATOR_MULTIPLY && node->nr_inputs == 2);
		for (uint32_t k = 0; k < node->nr_inputs && is_product; k++)
			if (!vt_dataflow_writer(flow, node, k) &&
			    !was_read(flow, flow->inputs[node->first_input + k], from, first))
				return 0;
	}
	return multiplies;
}

static void look_at(struct loops *l, uint32_t n)
{
	struct vt_key line = line_of(l->flow, n);
	const uint64_t *known = vt_map_find(&l->last, line);
	uint32_t before = known ? (uint32_t)*known : VT_NO_INDEX;

	vt_map_put(&l->last, line, n);
	if (before == VT_NO_INDEX || !line.b || l->nr_backward[before] != l->nr_backward[n] ||
	    !walk_iteration(l, before, n) || !is_of_a_recurrence(l, before, n))
		return;
	l->nr_iterations[n] = l->nr_iterations[before] + 1;
	if (l->nr_iterations[n] < ITERATIONS_MIN)
		return;
	for (size_t i = 0; i < l->iteration.len; i++)
		vt_map_put(&l->recurrent, line_of(l->flow, l->iteration.items[i]), 1);
}

void vt_flow_find_recurrence(struct vt_dataflow *flow)
{
	struct loops l = { .flow = flow };
	uint32_t nr_backward = 0;

	l.nr_iterations = vt_xcalloc((size_t)flow->nr_nodes + 1, sizeof(*l.nr_iterations));
	l.nr_backward = vt_xcalloc((size_t)flow->nr_nodes + 1, sizeof(*l.nr_backward));
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		nr_backward += flow->nodes[n].in_backward;
		l.nr_backward[n] = nr_backward;
		if (vt_flow_node_counts(&flow->nodes[n]))
			look_at(&l, n);
	}
	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (vt_flow_node_counts(&flow->nodes[n]))
			flow->nodes[n].is_recurrent =
				vt_map_find(&l.recurrent, line_of(flow, n)) != NULL;
	vt_map_release(&l.last);
	vt_map_release(&l.recurrent);
	vt_vector_release(&l.iteration);
	free(l.nr_iterations);
	free(l.nr_backward);
}

void vt_flow_label_recurrence(struct vt_dataflow *flow)
{
	struct vt_map labels = { 0 }; /* by line */

	for (int is_labelling = 0; is_labelling < 2; is_labelling++)
		for (uint32_t n = 0; n < flow->nr_nodes; n++) {
			struct vt_flow_node *node = &flow->nodes[n];
			const uint64_t *known;

			if (!node->is_recurrent || (node->label == VT_FLOW_NONE) != is_labelling)
				continue;
			if (!is_labelling) {
				vt_map_put(&labels, line_of(flow, n), node->label);
				continue;
			}
			known = vt_map_find(&labels, line_of(flow, n));
			node->label = (uint8_t)(known ? *known : VT_FLOW_MIXER);
		}
	vt_map_release(&labels);
}
