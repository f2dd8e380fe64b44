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

/* What three quarters of it are, of the parts of a network that have constants of their own. */
static enum vt_flow_label main_label(const struct function *function)
{
	static const enum vt_flow_label parts[] = { VT_FLOW_ATTENTION, VT_FLOW_MLP, VT_FLOW_CONV,
						    VT_FLOW_MIXER };
	uint64_t total = 0;

	for (unsigned i = VT_FLOW_NONE + 1; i < VT_NR_FLOW_LABELS; i++)
		total += function->bytes[i];
	for (unsigned i = 0; i < VT_ARRAY_SIZE(parts) && total; i++)
		if (function->bytes[parts[i]] * 4 >= total * 3)
			return parts[i];
	return VT_FLOW_NONE;
}

void vt_flow_label_functions(struct vt_dataflow *flow)
{
	struct functions f = { .model = flow->model };

	for (int is_labelling = 0; is_labelling < 2; is_labelling++)
		for (uint32_t n = 0; n < flow->nr_nodes; n++) {
			struct vt_flow_node *node = &flow->nodes[n];
			struct function *function;

			if (node->in_backward || (node->label == VT_FLOW_NONE) != is_labelling)
				continue;
			function = find_function(&f, &flow->model->calls.items[node->operator]);
			if (function && is_labelling)
				node->label = (uint8_t)main_label(function);
			else if (function)
				function->bytes[node->label] += vt_dataflow_bytes(flow, node);
		}
	vt_map_release(&f.numbers);
	vt_vector_release(&f.all);
}
