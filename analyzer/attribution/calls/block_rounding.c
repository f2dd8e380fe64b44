/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/block_rounding.h"

int vt_block_rounding_can_have(const struct vt_model *model, const struct vt_allocation *a)
{
	const struct vt_allocation *segment;

	if (a->container == VT_NO_CONTAINER || a->common->size_bytes <= VT_SETTINGS_SMALL_MAX)
		return 0;
	segment = &model->allocations[a->container];
	return a->address + a->common->size_bytes == segment->address + segment->common->size_bytes;
}

uint64_t vt_block_rounding_least(const struct vt_model *model, const struct vt_allocation *a)
{
	uint64_t most = a->common->size_bytes;

	if (a->common->kind != VT_KIND_BLOCK)
		return most;
	if (a->common->requested_bytes)
		return a->common->requested_bytes;
	if (vt_block_rounding_can_have(model, a))
		return most - VT_SETTINGS_SMALL_MAX;
	return most < VT_SETTINGS_BLOCK_ROUNDING ? 1 : most - VT_SETTINGS_BLOCK_ROUNDING + 1;
}
