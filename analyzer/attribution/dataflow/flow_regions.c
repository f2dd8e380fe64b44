/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#include "analyzer/base/sort.h"

/* Operators of one branch: more are no layer. */
#define BRANCH_MAX 2000
/* Sums in one another: x + attention(x) + mlp(x). */
#define SUMS_MAX 4
/* Operators between scores and their softmax, or of a shortcut. */
#define SCORES_MAX   4
#define SHORTCUT_MAX 8

struct region {
	uint32_t sum;  /* node */
	uint32_t base; /* value that the branch was computed from */
	uint32_t size;
};

struct regions {
	struct vt_dataflow *flow;
	VT_VECTOR(struct region) found;
	uint32_t *base_of; /* by node: of a residual sum its base + 1 */
	struct vt_flow_nodes branch;
};

/* What a layer that is a sum by itself does not have: x + a * (x @ w). */
static int is_bent(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_ADD:
	case VT_OPERATOR_MULTIPLY:
	case VT_OPERATOR_CAST:
	case VT_OPERATOR_COPY:
		return node->label == VT_FLOW_NORM;
	case VT_OPERATOR_PRODUCT:
		return !vt_dataflow_is_by_weight(flow, node);
	default:
		return 1;
	}
}

/* The nodes that compute a value from what was there when `base` was made. */
static int walk_branch(struct regions *r, uint32_t value, uint32_t base)
{
	struct vt_dataflow *flow = r->flow;
	const struct vt_flow_value *from = &flow->values[base];
	int64_t low = from->writer == VT_NO_INDEX ? (int64_t)from->since - 1 : from->writer;
	uint32_t last = flow->values[value].writer;
	int is_from_base = 0, has_layer = 0, is_more = 0;

	if (last == VT_NO_INDEX || last <= low)
		return 0;
	r->branch.len = 0;
	vt_vector_push(&r->branch, last);
	vt_dataflow_walk(flow);
	vt_dataflow_see(flow, &flow->nodes[last]);
	for (size_t i = 0; i < r->branch.len; i++) {
		const struct vt_flow_node *node = &flow->nodes[r->branch.items[i]];

		if (r->branch.len > BRANCH_MAX)
			return 0;
		is_more |= is_bent(flow, node) || (has_layer && vt_flow_is_product(node));
		has_layer |= node->class == VT_OPERATOR_PRODUCT ||
			     node->class == VT_OPERATOR_CONVOLUTION ||
			     node->class == VT_OPERATOR_ATTENTION ||
			     node->class == VT_OPERATOR_RECURRENT;
		for (uint32_t k = 0; k < node->nr_inputs; k++) {
			uint32_t input = flow->inputs[node->first_input + k];
			uint32_t writer = flow->values[input].writer;

			is_from_base |= input == base || vt_dataflow_origin(flow, input) == base;
			if (writer != VT_NO_INDEX && writer > low &&
			    vt_dataflow_see(flow, &flow->nodes[writer]))
				vt_vector_push(&r->branch, writer);
		}
	}
	return is_from_base && has_layer && is_more;
}

static int try_branch(struct regions *r, uint32_t sum, uint32_t value, uint32_t base)
{
	struct region one = { sum, base, 0 };

	if (!walk_branch(r, value, base))
		return 0;
	one.size = (uint32_t)r->branch.len;
	vt_vector_push(&r->found, one);
	r->base_of[sum] = base + 1;
	return 1;
}

/*
 * What a shortcut convolves for its sum, whose branch has another width: a value; VT_NO_INDEX: it
 * is no such shortcut.  Adapters of low rank also add to a product, but of matrices.
 */
static uint32_t find_projected(const struct vt_dataflow *flow, uint32_t operand)
{
	int is_projected = 0;

	for (unsigned i = 0; i < SHORTCUT_MAX; i++) {
		const struct vt_flow_value *value;
		const struct vt_flow_node *node;

		operand = vt_dataflow_origin(flow, operand);
		value = &flow->values[operand];
		node = value->writer == VT_NO_INDEX ? NULL : &flow->nodes[value->writer];
		if (node && node->class == VT_OPERATOR_CONVOLUTION && !is_projected)
			is_projected = 1;
		else if (!node ||
			 (node->class != VT_OPERATOR_POOL && node->class != VT_OPERATOR_UPSAMPLE &&
			  node->label != VT_FLOW_NORM))
			break;
		operand = flow->inputs[node->first_input];
	}
	return is_projected ? operand : VT_NO_INDEX;
}

/* One operand, or what it is a sum or a shortcut of, is what the other was computed from. */
static int find_base(struct regions *r, uint32_t sum, uint32_t operand, uint32_t other)
{
	uint32_t base = vt_dataflow_origin(r->flow, operand);

	for (unsigned i = 0; i < SUMS_MAX; i++) {
		uint32_t writer = r->flow->values[base].writer;

		if (try_branch(r, sum, other, base))
			return 1;
		if (writer == VT_NO_INDEX || !r->base_of[writer])
			break;
		base = r->base_of[writer] - 1;
	}
	base = find_projected(r->flow, operand);
	return base != VT_NO_INDEX && try_branch(r, sum, other, base);
}

/*
 * Scores of an attention: what is added to them in every layer is none of the stream between
 * layers, though those of the second layer are computed of it.
 */
static int is_of_scores(const struct vt_dataflow *flow, const struct vt_flow_node *node)
{
	for (unsigned i = 0; i < SCORES_MAX; i++) {
		node = vt_dataflow_reader(flow, node, 0);
		if (!node || node->class == VT_OPERATOR_SOFTMAX)
			return node != NULL;
		switch (node->class) {
		case VT_OPERATOR_ADD:
		case VT_OPERATOR_MULTIPLY:
		case VT_OPERATOR_CAST:
		case VT_OPERATOR_COPY:
		case VT_OPERATOR_OTHER: /* masked_fill */
			break;
		default:
			return 0;
		}
	}
	return 0;
}

/* The one whose other operand is a product alone is asked first: it is cheaper to refute. */
static void try_sum(struct regions *r, uint32_t n)
{
	struct vt_flow_node *node = &r->flow->nodes[n];
	uint32_t a, b;

	if (node->class != VT_OPERATOR_ADD || node->nr_inputs != 2 || node->label ||
	    node->is_recurrent || !vt_flow_node_counts(node) || is_of_scores(r->flow, node))
		return;
	a = r->flow->inputs[node->first_input];
	b = r->flow->inputs[node->first_input + 1];
	/* A bias or a mask is no branch. */
	if (r->flow->values[a].bytes * 4 < vt_dataflow_bytes(r->flow, node) ||
	    r->flow->values[b].bytes * 4 < vt_dataflow_bytes(r->flow, node))
		return;
	if (r->flow->values[a].since > r->flow->values[b].since ? find_base(r, n, b, a) ||
								  find_base(r, n, a, b)
								: find_base(r, n, a, b) ||
								  find_base(r, n, b, a))
		node->label = VT_FLOW_RESIDUAL;
}

static int compare_regions(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->sum < y->sum ? -1 : x->sum > y->sum;
}

/* Whether the operand that is the base comes by it: a dropout, a cast, before the branch begins. */
static int is_before_branch(const struct vt_dataflow *flow, uint32_t operand, uint32_t base,
			    uint32_t n)
{
	while (operand != base && flow->values[operand].writer != VT_NO_INDEX) {
		const struct vt_flow_node *node = &flow->nodes[flow->values[operand].writer];

		if (vt_dataflow_index(flow, node) == n)
			return 1;
		if (vt_dataflow_origin(flow, operand) == operand)
			break;
		operand = flow->inputs[node->first_input + node->nr_inputs - 1];
	}
	return 0;
}

/* The operand that is not the base: walked again. */
static void claim(struct regions *r, uint32_t number)
{
	struct vt_dataflow *flow = r->flow;
	const struct region *region = &r->found.items[number];
	const struct vt_flow_node *sum = &flow->nodes[region->sum];

	for (uint32_t k = 0; k < sum->nr_inputs; k++) {
		uint32_t other = flow->inputs[sum->first_input + 1 - k];

		if (!walk_branch(r, flow->inputs[sum->first_input + k], region->base))
			continue;
		if (r->branch.len != region->size)
			continue;
		for (size_t i = 0; i < r->branch.len; i++)
			if (flow->nodes[r->branch.items[i]].region == VT_NO_INDEX &&
			    flow->nodes[r->branch.items[i]].label != VT_FLOW_RESIDUAL &&
			    !is_before_branch(flow, other, region->base, r->branch.items[i]))
				flow->nodes[r->branch.items[i]].region = number;
		return;
	}
}

void vt_flow_find_regions(struct vt_dataflow *flow)
{
	struct regions r = { .flow = flow };

	r.base_of = vt_xcalloc((size_t)flow->nr_nodes + 1, sizeof(*r.base_of));
	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		try_sum(&r, n);
	vt_vector_sort(&r.found, compare_regions);
	for (uint32_t i = 0; i < r.found.len; i++)
		claim(&r, i);
	vt_vector_release(&r.found);
	vt_vector_release(&r.branch);
	free(r.base_of);
}
