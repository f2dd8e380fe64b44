/* SPDX-License-Identifier: MIT */
#include "analyzer/model/segments.h"

#include <stddef.h>

#include "analyzer/base/search.h"

const struct vt_segment *vt_segments_find(const struct vt_model *model, uint32_t allocation)
{
	uint32_t low = vt_search_first(i, model->nr_segments,
				       model->segments[i].allocation < allocation);

	if (low == model->nr_segments || model->segments[low].allocation != allocation)
		return NULL;
	return &model->segments[low];
}

static uint32_t first_spill(const struct vt_model *model, uint32_t block)
{
	return vt_search_first(i, model->nr_spills, model->spills[i].block < block);
}

static void add(const struct vt_model *model, uint64_t *held, uint32_t allocation, uint64_t bytes)
{
	const struct vt_segment *segment = vt_segments_find(model, allocation);

	if (segment)
		held[segment - model->segments] += bytes;
}

void vt_segments_hold(const struct vt_model *model, uint64_t *held, uint32_t block)
{
	const struct vt_allocation *a = &model->allocations[block];
	uint64_t spilled = 0;

	for (uint32_t i = first_spill(model, block);
	     i < model->nr_spills && model->spills[i].block == block; i++) {
		spilled += model->spills[i].bytes;
		add(model, held, model->spills[i].segment, model->spills[i].bytes);
	}
	if (a->container != VT_NO_CONTAINER && spilled < a->common->size_bytes)
		add(model, held, a->container, a->common->size_bytes - spilled);
}
