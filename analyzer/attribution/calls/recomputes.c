/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/recomputes.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* Where PyTorch calls the backward() of a function written in Python. */
static int is_function_call(const struct vt_code *code)
{
	static const char file[] = "/torch/autograd/function.py";
	size_t len = strlen(code->file);

	return len >= sizeof(file) - 1 && strcmp(code->short_name, "apply") == 0 &&
	       strcmp(code->file + len - (sizeof(file) - 1), file) == 0;
}

/* A module's forward() below such a call; modules around it are those that called backward(). */
static int has_forward_below(const struct vt_frames *frames, uint32_t python_stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, python_stack, ids);
	int has_forward = 0;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);

		if (is_function_call(code))
			return has_forward;
		has_forward |= frames->python[ids[i]].self_type &&
			       strcmp(code->short_name, "forward") == 0;
	}
	return 0;
}

static struct vt_recompute maker_of(const struct vt_allocation *a)
{
	return (struct vt_recompute){ a->node_sequence, a->common->made->node_class,
				      a->common->made->forward_python_stack };
}

static int compare(const struct vt_recompute *x, const struct vt_recompute *y)
{
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->node_class != y->node_class)
		return x->node_class < y->node_class ? -1 : 1;
	if (x->forward_python_stack != y->forward_python_stack)
		return x->forward_python_stack < y->forward_python_stack ? -1 : 1;
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	return compare(a, b);
}

void vt_recomputes_init(struct vt_recomputes *recomputes, const struct vt_model *model,
			const struct vt_module_stacks *module_stacks)
{
	VT_VECTOR(struct vt_recompute) found = { 0 };
	uint32_t nr;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct vt_recompute node = maker_of(a);

		if (!a->common->made->node_class ||
		    !vt_module_stacks_get(module_stacks, a->common->made->python_stack, &nr) || !nr)
			continue;
		/* Events of one node follow each other. */
		if (found.len && !compare(&found.items[found.len - 1], &node))
			continue;
		if (has_forward_below(&model->frames, a->common->made->python_stack))
			vt_vector_push(&found, node);
	}
	vt_vector_sort(&found, compare_nodes);
	recomputes->nodes = found.items;
	recomputes->nr = (uint32_t)found.len;
}

void vt_recomputes_release(struct vt_recomputes *recomputes)
{
	free(recomputes->nodes);
	memset(recomputes, 0, sizeof(*recomputes));
}

int vt_recomputes_has(const struct vt_recomputes *recomputes, const struct vt_recompute *node)
{
	return recomputes->nr && bsearch(node, recomputes->nodes, recomputes->nr, sizeof(*node),
					 compare_nodes) != NULL;
}
