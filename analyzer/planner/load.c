/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/load.h"

#include <string.h>

#include "analyzer/replay/allocator.h"

struct request {
	uint64_t elements;
	int is_buffer; /* counted in bytes of its final type */
	struct vt_piece *block;
};

VT_VECTOR_DECLARE(requests, struct request);

static void push(struct requests *requests, uint64_t elements, uint64_t count, int is_buffer)
{
	struct request request = { elements, is_buffer, NULL };

	for (uint64_t i = 0; i < count && requests->len <= VT_LOAD_MAX_TENSORS; i++)
		vt_vector_push(requests, request);
}

/* A layer's parameters come together; norms without a bias of their own name one vector each. */
static void push_layers(struct requests *requests, const struct vt_load *load, enum vt_part part)
{
	const struct vt_architecture *model = load->model;
	uint64_t layers = model->stacks[part].layers;

	for (uint64_t layer = 0; layer < layers && requests->len <= VT_LOAD_MAX_TENSORS; layer++) {
		for (size_t i = 0; i < model->nr_tensors; i++) {
			const struct vt_plan_tensor *t = &model->tensors[i];

			uint64_t each = (t->count + layers - 1) / layers;

			if (t->part == part && t->is_in_layer)
				push(requests, t->rows * t->columns, each, 0);
		}
		if (load->rope_bytes && part == VT_PART_TEXT)
			push(requests, load->rope_bytes, 2, 1);
	}
}

static void list(struct requests *requests, const struct vt_load *load)
{
	const struct vt_architecture *model = load->model;
	int is_started[VT_NR_PARTS] = { 0 };

	/* In the order of the table, the layers where the first of them stands. */
	for (size_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_plan_tensor *t = &model->tensors[i];

		if (t->is_in_layer && model->stacks[t->part].layers) {
			if (!is_started[t->part])
				push_layers(requests, load, t->part);
			is_started[t->part] = 1;
		} else {
			push(requests, t->rows * t->columns, t->count, 0);
		}
	}
}

static uint64_t bytes_of(const struct vt_load *load, const struct request *request, double element)
{
	if (request->is_buffer)
		return (uint64_t)((double)request->elements * element / load->element_bytes);
	return (uint64_t)((double)request->elements * element + 0.5);
}

void vt_load_replay(struct vt_load *load)
{
	double first = load->is_cast_later ? 4 : load->element_bytes;
	struct requests requests = { 0 };
	struct vt_settings settings;
	struct vt_pools pools;
	struct vt_card card;

	vt_settings_init(&settings, NULL);
	vt_card_init(&card, UINT64_MAX);
	vt_pools_init(&pools, &settings, &card, 0);
	list(&requests, load);
	if (requests.len > VT_LOAD_MAX_TENSORS)
		requests.len = 0;
	for (size_t i = 0; i < requests.len; i++)
		requests.items[i].block = vt_allocator_take(
			&pools, bytes_of(load, &requests.items[i], first), 0, 0);
	for (size_t i = 0; i < requests.len; i++) {
		uint64_t bytes = bytes_of(load, &requests.items[i], load->element_bytes);
		struct vt_piece *old = requests.items[i].block;

		load->requested_bytes += bytes;
		if (!load->is_cast_later || load->element_bytes == 4)
			continue;
		requests.items[i].block = vt_allocator_take(&pools, bytes, 0, 0);
		if (old)
			vt_allocator_give(&pools, old);
	}
	load->allocated_bytes = pools.allocated_bytes;
	load->reserved_bytes = pools.reserved_bytes;
	vt_pools_release(&pools);
	vt_card_release(&card);
	vt_vector_release(&requests);
}
