/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#include <string.h>

#include "analyzer/base/map.h"

struct function {
	uint64_t bytes[VT_NR_FLOW_LABELS]; /* that its operators made */
};

struct functions {
	const struct vt_model *model;
	struct vt_map numbers; /* function, and where it was called -> index in `all` */
	VT_VECTOR(struct function) all;
};

/* The user's function that called an operator: PyTorch's own lie between. */
static struct function *find_function(struct functions *f, const struct vt_operator_call *call)
{
	const struct vt_frames *frames = &f->model->frames;
	const struct vt_frame_tree *tree = &frames->python_tree;
	struct function none = { { 0 } };
	struct vt_key key;
	const uint64_t *known;
	uint32_t at;

	if (!call->python_stack || call->python_stack >= tree->nr_stacks)
		return NULL;
	at = tree->leaves[call->python_stack];
	while (at && tree->nodes[at].parent &&
	       strstr(vt_frames_code(frames, tree->nodes[at].frame)->file, "/torch/"))
		at = tree->nodes[at].parent;
	key = (struct vt_key){ tree->nodes[at].parent, frames->python[tree->nodes[at].frame].code,
			       0 };
	known = vt_map_find(&f->numbers, key);
	if (known)
		return &f->all.items[*known];
	vt_map_put(&f->numbers, key, f->all.len);
	vt_vector_push(&f->all, none);
	return &f->all.items[f->all.len - 1];
}

static int is_part(unsigned label)
{
	return label == VT_FLOW_ATTENTION || label == VT_FLOW_MLP || label == VT_FLOW_CONV ||
	       label == VT_FLOW_MIXER || label == VT_FLOW_EMBEDDING;
}

/* What three quarters of it are, of the parts of a network that have constants of their own. */
static enum vt_flow_label main_label(const struct function *function)
{
	uint64_t total = 0;

	for (unsigned i = VT_FLOW_NONE + 1; i < VT_NR_FLOW_LABELS; i++)
		total += function->bytes[i];
	for (unsigned i = VT_FLOW_NONE + 1; i < VT_NR_FLOW_LABELS && total; i++)
		if (is_part(i) && function->bytes[i] * 4 >= total * 3)
			return (enum vt_flow_label)i;
	return VT_FLOW_NONE;
}

/* A part of a network, for which alone it was made: all that reads it is there. */
static enum vt_flow_label reader_label(const struct vt_dataflow *flow,
				       const struct vt_flow_node *node)
{
	const struct vt_flow_node *first = vt_dataflow_reader(flow, node, 0), *reader;

	for (uint32_t k = 1; first && (reader = vt_dataflow_reader(flow, node, k)); k++)
		if (reader->label != first->label || reader->region != first->region)
			return VT_FLOW_NONE;
	return first && is_part(first->label) ? (enum vt_flow_label)first->label : VT_FLOW_NONE;
}

static void label_by_function(struct vt_dataflow *flow)
{
	struct functions f = { .model = flow->model };

	for (int is_labelling = 0; is_labelling < 2; is_labelling++)
		for (uint32_t n = 0; n < flow->nr_nodes; n++) {
			struct vt_flow_node *node = &flow->nodes[n];
			struct function *function;

			if (node->in_backward || (node->label == VT_FLOW_NONE) != is_labelling)
				continue;
			function = find_function(&f, &flow->model->calls.items[node->operator]);
			if (function && is_labelling && node->makes_leaf)
				node->label = (uint8_t)main_label(function);
			else if (function && !is_labelling)
				function->bytes[node->label] += vt_dataflow_bytes(flow, node);
		}
	vt_map_release(&f.numbers);
	vt_vector_release(&f.all);
}

void vt_flow_label_functions(struct vt_dataflow *flow)
{
	label_by_function(flow);
	/* What made something comes before what reads it. */
	for (uint32_t n = flow->nr_nodes; n-- > 0;) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (!node->in_backward && node->makes_leaf && node->label == VT_FLOW_NONE)
			node->label = (uint8_t)reader_label(flow, node);
	}
}
