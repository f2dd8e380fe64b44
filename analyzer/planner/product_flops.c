/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/product_flops.h"

#include <stdlib.h>
#include <string.h>

/* The products, and whether a row of their weight is one output, or a column (of Conv1D). */
static const struct product {
	const char *name;
	int is_by_row;
} products_of[] = {
	{ "aten::linear", 1 },	{ "aten::conv1d", 1 },	   { "aten::conv2d", 1 },
	{ "aten::conv3d", 1 },	{ "aten::convolution", 1 }, { "aten::addmm", 0 },
	{ "aten::mm", 0 },
};

static const struct product *product_of(const struct vt_model *model,
					const struct vt_operator_call *call)
{
	const char *name = vt_model_text(model, call->name);

	for (size_t i = 0; name && i < VT_ARRAY_SIZE(products_of); i++)
		if (!strcmp(name, products_of[i].name))
			return &products_of[i];
	return NULL;
}

/* One product may be done by another. */
static int is_inside_another(const struct vt_model *model, const struct vt_operator_call *call)
{
	for (unsigned depth = 0; call->parent != VT_NO_INDEX && depth < 8; depth++) {
		call = &model->calls.items[call->parent];
		if (product_of(model, call))
			return 1;
	}
	return 0;
}

/* Elements of "4,512" and of its first or last dimension; 0: fewer than two dimensions. */
static double elements_of(const char *shape, int is_first, double *outputs)
{
	double elements = 1, side = 0;
	unsigned nr = 0;
	char *end;

	for (; shape && *shape; shape = *end ? end + 1 : end) {
		side = strtod(shape, &end);
		if (end == shape || side <= 0)
			return 0;
		elements *= side;
		if (!nr++ || !is_first)
			*outputs = side;
	}
	return nr > 1 ? elements : 0;
}

static double element_bytes(const char *dtype)
{
	return dtype && strstr(dtype, "64") ? 8 : dtype && strstr(dtype, "32") ? 4 : 2;
}

static uint8_t *find_cast(const struct vt_facts *facts)
{
	uint8_t *is_cast = vt_xcalloc((size_t)facts->model->nr_tensors + 1, 1);

	for (uint32_t i = 0; i < facts->model->nr_allocations; i++)
		if (vt_narrow_get(&facts->cast_of, i))
			is_cast[vt_narrow_get(&facts->cast_of, i) - 1] = 1;
	return is_cast;
}

/* FLOPs of a call whose result is *allocation; 0: it is no product with a weight. */
static double flops_of(const struct vt_facts *facts, const uint8_t *is_cast,
		       const struct vt_operator_call *call, const struct product *product,
		       uint32_t *allocation)
{
	const struct vt_model *model = facts->model;
	const struct vt_tensor *weight = NULL;
	double outputs = 0, elements = 0, result = 0;

	for (uint32_t t = 0; t < call->nr_tensors; t++) {
		const struct vt_call_tensor *tensor =
			&model->calls.tensors[call->first_tensor + t];
		const struct vt_tensor *named;

		if (tensor->allocation == VT_NO_INDEX)
			continue;
		named = vt_names_find(&facts->names, tensor->allocation, 1u << VT_ROLE_PARAMETER);
		if (tensor->is_output) {
			const struct vt_allocation *a = &model->allocations[tensor->allocation];

			*allocation = tensor->allocation;
			result = (double)vt_allocation_asked_bytes(a);
		} else if (named && elements_of(vt_model_text(model, named->shape),
						product->is_by_row, &outputs) > 0) {
			weight = named;
		}
	}
	if (!weight || result <= 0)
		return 0;
	elements = elements_of(vt_model_text(model, weight->shape), product->is_by_row, &outputs);
	result /= is_cast[weight - model->tensors] ?
			  2 :
			  element_bytes(vt_model_text(model, weight->dtype));
	return 2 * result / outputs * elements;
}

void vt_product_flops_find(struct vt_product_flops *products, const struct vt_facts *facts)
{
	const struct vt_model *model = facts->model;
	uint8_t *is_cast = find_cast(facts);
	uint32_t first = VT_NO_INDEX;

	for (uint32_t c = 0; c < model->calls.nr; c++) {
		const struct vt_operator_call *call = &model->calls.items[c];
		const struct product *product = call->node_class ? NULL : product_of(model, call);
		uint32_t allocation = VT_NO_INDEX, span;
		double flops;

		if (!product || is_inside_another(model, call))
			continue;
		flops = flops_of(facts, is_cast, call, product, &allocation);
		if (flops <= 0)
			continue;
		span = vt_stages_span_at(facts->stages, model->allocations[allocation].event);
		if (span == VT_NO_INDEX || facts->stages->spans[span].stage != VT_STAGE_FORWARD)
			continue;
		first = first == VT_NO_INDEX ? span : first;
		if (span == first)
			vt_vector_push(products, ((struct vt_product){ allocation, flops }));
	}
	free(is_cast);
}
