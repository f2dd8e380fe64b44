/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/load.h"

#include <string.h>

#include "analyzer/replay/allocator.h"

static void push(struct vt_load_tensors *tensors, const struct vt_plan_tensor *tensor,
		 uint64_t elements, uint64_t count, uint64_t layer)
{
	struct vt_load_tensor one = { tensor, elements, layer, NULL };

	for (uint64_t i = 0; i < count && tensors->len <= VT_LOAD_MAX_TENSORS; i++)
		vt_vector_push(tensors, one);
}

/* Of a mixture, and in no dense layer: experts, shared ones too, and what chooses among them. */
static int is_of_mixture(const struct vt_plan_tensor *t)
{
	static const char *const words[] = { "expert", "shared", "router", ".gate." };

	for (size_t i = 0; i < VT_ARRAY_SIZE(words); i++)
		if (strstr(t->name, words[i]))
			return 1;
	return t->role == VT_ROLE_EXPERT;
}

/*
 * How many of the parameter one layer has: those of a mixture are behind the dense layers; all have
 * as many; or the dense ones alone have it, or only the others; else they are spread.
 */
static uint64_t count_in(const struct vt_plan_tensor *t, const struct vt_stack *s, uint64_t layer)
{
	uint64_t dense = s->experts ? s->dense_layers : 0, mixtures = s->layers - dense;

	if (dense && mixtures && t->count % mixtures == 0 && is_of_mixture(t))
		return layer < dense ? 0 : t->count / mixtures;
	if (t->count % s->layers == 0)
		return t->count / s->layers;
	if (t->count == dense)
		return layer < dense;
	if (dense && mixtures && t->count % mixtures == 0)
		return layer < dense ? 0 : t->count / mixtures;
	if (dense && t->count % dense == 0)
		return layer < dense ? t->count / dense : 0;
	return t->count * (layer + 1) / s->layers - t->count * layer / s->layers;
}

/* All experts of a layer are one parameter, with gates before the rows that they multiply. */
static void push_experts(struct vt_load_tensors *tensors, const struct vt_plan_tensor *t,
			 uint64_t count, uint64_t layer)
{
	struct vt_load_tensor *before = tensors->len ? &tensors->items[tensors->len - 1] : NULL;
	uint64_t elements = t->rows * t->columns * count;

	if (before && before->tensor && before->layer == layer && strstr(t->name, "up_proj") &&
	    strstr(before->tensor->name, "experts.gate_proj"))
		before->elements += elements;
	else
		push(tensors, t, elements, count > 0, layer);
}

/* A layer's parameters come together. */
static void push_layers(struct vt_load_tensors *tensors, const struct vt_load *load,
			enum vt_part part)
{
	const struct vt_architecture *model = load->model;
	uint64_t layers = model->stacks[part].layers;

	/* Every layer has a tensor, so these are too many, whatever a table says of them. */
	if (layers > VT_LOAD_MAX_TENSORS)
		push(tensors, NULL, 1, VT_LOAD_MAX_TENSORS + 1, 0);
	for (uint64_t layer = 0; layer < layers && tensors->len <= VT_LOAD_MAX_TENSORS; layer++) {
		for (size_t i = 0; i < model->nr_tensors; i++) {
			const struct vt_plan_tensor *t = &model->tensors[i];
			uint64_t count;

			if (t->part != part || !t->is_in_layer)
				continue;
			count = count_in(t, &model->stacks[part], layer);
			if (t->role == VT_ROLE_EXPERT)
				push_experts(tensors, t, count, layer);
			else
				push(tensors, t, t->rows * t->columns, count, layer);
		}
		if (load->rope_bytes && part == VT_PART_TEXT)
			push(tensors, NULL, load->rope_bytes, 2, layer);
	}
}

static void list_tensors(struct vt_load_tensors *tensors, const struct vt_load *load)
{
	const struct vt_architecture *model = load->model;
	int is_started[VT_NR_PARTS] = { 0 };

	/* In the order of the table, the layers where the first of them stands. */
	for (size_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_plan_tensor *t = &model->tensors[i];

		if (t->is_in_layer && model->stacks[t->part].layers) {
			if (!is_started[t->part])
				push_layers(tensors, load, t->part);
			is_started[t->part] = 1;
		} else {
			push(tensors, t, t->rows * t->columns, t->count, VT_LOAD_NO_LAYER);
		}
	}
}

static uint64_t bytes_of(const struct vt_load *load, const struct vt_load_tensor *one,
			 double element)
{
	if (!one->tensor)
		return (uint64_t)((double)one->elements * element / load->element_bytes);
	return (uint64_t)((double)one->elements * element + 0.5);
}

void vt_load_play(struct vt_load *load, struct vt_pools *pools, struct vt_load_tensors *tensors)
{
	double first = load->is_cast_later ? 4 : load->element_bytes;

	list_tensors(tensors, load);
	if (tensors->len > VT_LOAD_MAX_TENSORS)
		tensors->len = 0;
	for (size_t i = 0; i < tensors->len; i++)
		tensors->items[i].block = vt_allocator_take(
			pools, bytes_of(load, &tensors->items[i], first), 0, 0);
	for (size_t i = 0; i < tensors->len; i++) {
		uint64_t bytes = bytes_of(load, &tensors->items[i], load->element_bytes);
		struct vt_piece *old = tensors->items[i].block;

		load->requested_bytes += bytes;
		if (!load->is_cast_later || load->element_bytes == 4)
			continue;
		tensors->items[i].block = vt_allocator_take(pools, bytes, 0, 0);
		if (old)
			vt_allocator_give(pools, old);
	}
	load->allocated_bytes = pools->allocated_bytes;
	load->reserved_bytes = pools->reserved_bytes;
}

void vt_load_replay(struct vt_load *load)
{
	struct vt_load_tensors tensors = { 0 };
	struct vt_settings settings;
	struct vt_pools pools;
	struct vt_card card;

	vt_settings_init(&settings, NULL);
	vt_card_init(&card, UINT64_MAX);
	vt_pools_init(&pools, &settings, &card, 0);
	vt_load_play(load, &pools, &tensors);
	vt_pools_release(&pools);
	vt_card_release(&card);
	vt_vector_release(&tensors);
}
