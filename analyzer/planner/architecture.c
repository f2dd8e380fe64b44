/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/architecture.h"

#include <stdio.h>
#include <string.h>

void vt_architecture_release(struct vt_architecture *model)
{
	free(model->name);
	free(model->family);
	free(model->note);
	free(model->tensors);
	memset(model, 0, sizeof(*model));
}

void vt_architecture_note(struct vt_architecture *model, char *text)
{
	char *before = model->note;

	if (!before) {
		model->note = text;
		return;
	}
	model->note = vt_xasprintf("%s; %s", before, text);
	free(before);
	free(text);
}

/* Sums of doubles are exact below 2^53. */
static int is_countable(struct vt_architecture *model, double more)
{
	if (model->elements + more >= 0x1p53)
		model->is_too_large = 1;
	else
		model->elements += more;
	return !model->is_too_large;
}

void vt_architecture_add(struct vt_architecture *model, const char *name,
			 const struct vt_tensor_spec *spec)
{
	double elements = (double)spec->rows * (double)spec->columns * (double)spec->count;
	struct vt_plan_tensor *tensor;

	if (elements == 0 || !is_countable(model, elements))
		return;
	model->tensors = vt_vector_grow(model->tensors, &model->capacity, model->nr_tensors + 1,
					sizeof(*model->tensors));
	tensor = &model->tensors[model->nr_tensors++];
	memset(tensor, 0, sizeof(*tensor));
	snprintf(tensor->name, sizeof(tensor->name), "%s", name);
	tensor->role = spec->role;
	tensor->part = spec->part;
	tensor->is_in_layer = spec->is_in_layer;
	tensor->rows = spec->rows;
	tensor->columns = spec->columns;
	tensor->count = spec->count;
}

void vt_architecture_repeat(struct vt_architecture *model, struct vt_plan_tensor *tensor)
{
	if (is_countable(model, (double)tensor->rows * (double)tensor->columns))
		tensor->count++;
}

uint64_t vt_tensor_elements(const struct vt_plan_tensor *tensor)
{
	return tensor->rows * tensor->columns * tensor->count;
}

uint64_t vt_architecture_count(const struct vt_architecture *model, vt_tensor_fn is_wanted,
			       const void *context)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < model->nr_tensors; i++)
		if (!is_wanted || is_wanted(&model->tensors[i], context))
			sum += vt_tensor_elements(&model->tensors[i]);
	return sum;
}
