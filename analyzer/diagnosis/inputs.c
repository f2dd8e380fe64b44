/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/inputs.h"

static int is_of_place(const struct vt_allocation *a, const struct vt_allocation *of)
{
	return a->common->kind == of->common->kind &&
	       a->common->made->python_stack == of->common->made->python_stack &&
	       a->common->made->native_stack == of->common->made->native_stack;
}

/* By what was asked for: the block of a small remainder is larger. */
static int is_as_large(const struct vt_allocation *a, const struct vt_allocation *as)
{
	if (a->common->requested_bytes && as->common->requested_bytes)
		return a->common->requested_bytes == as->common->requested_bytes;
	return a->common->size_bytes == as->common->size_bytes;
}

int vt_inputs_have_changed(const struct vt_facts *facts, const struct vt_tensor *input,
			   int64_t event)
{
	const struct vt_model *model = facts->model;
	uint32_t index = facts->names.allocations[input - model->tensors];
	const struct vt_allocation *was;
	int has_other = 0;

	if (index == VT_NO_INDEX)
		return 0;
	was = &model->allocations[index];
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (!vt_allocation_is_live(a, event) || !is_of_place(a, was))
			continue;
		if (is_as_large(a, was))
			return 0;
		has_other = 1;
	}
	return has_other;
}
