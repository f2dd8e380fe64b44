/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/staging.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"

/* What the allocators ask of the driver for one of the two lies between them. */
#define NEAR 3

/* Lines of one call of one function: the same callers, the same code. */
static int is_same_call(const struct vt_model *model, const struct vt_allocation *x,
			const struct vt_allocation *y)
{
	uint32_t of_x[VT_FRAMES_MAX], of_y[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(&model->frames, x->common->made->python_stack, of_x);
	const struct vt_code *code_of_x, *code_of_y;

	if (!nr || nr != vt_frames_python(&model->frames, y->common->made->python_stack, of_y))
		return 0;
	code_of_x = vt_frames_code(&model->frames, of_x[0]);
	code_of_y = vt_frames_code(&model->frames, of_y[0]);
	return !strcmp(code_of_x->file, code_of_y->file) &&
	       !strcmp(code_of_x->name, code_of_y->name) &&
	       !memcmp(of_x + 1, of_y + 1, (nr - 1) * sizeof(*of_x));
}

/* PyTorch rounds page-locked memory up to a power of two. */
static int is_as_large(const struct vt_model *model, const struct vt_allocation *host,
		       const struct vt_allocation *block)
{
	return host->common->size_bytes >= vt_block_rounding_least(model, block) &&
	       host->common->size_bytes / 2 < block->common->size_bytes;
}

static int is_pair(const struct vt_model *model, const struct vt_allocation *host,
		   const struct vt_allocation *block)
{
	return vt_allocation_is_owned(block) &&
	       block->common->made->thread == host->common->made->thread &&
	       !block->common->made->node_class && is_as_large(model, host, block) &&
	       is_same_call(model, host, block);
}

/* The device's half of a pair; as a rule it comes last.  VT_NO_INDEX: none. */
static uint32_t find_block(const struct vt_model *model, uint32_t host)
{
	const struct vt_allocation *all = model->allocations;

	for (uint32_t i = host + 1; i < model->nr_allocations && i <= host + NEAR; i++)
		if (is_pair(model, &all[host], &all[i]))
			return i;
	for (uint32_t i = host; i-- > 0 && i + NEAR >= host;)
		if (is_pair(model, &all[host], &all[i]))
			return i;
	return VT_NO_INDEX;
}

void vt_staging_find(struct vt_facts *facts)
{
	const struct vt_model *model = facts->model;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		uint32_t block = VT_NO_INDEX;

		if (a->common->kind == VT_KIND_PINNED && a->common->made->python_stack)
			block = find_block(model, i);
		if (block != VT_NO_INDEX)
			facts->derived[block] = VT_SOURCE_HOST + 1;
	}
}
