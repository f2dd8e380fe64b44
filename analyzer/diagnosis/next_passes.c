/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/next_passes.h"

#include <string.h>

/* Fewer show no trend; of more the last ones. */
#define LEAST_PASSES 4
#define MOST_PASSES  16
#define LEAST_GROWING 0.75

/* The last pass that began before the request; VT_NO_INDEX: none did. */
static uint32_t last_before(const struct vt_passes *passes, int64_t event)
{
	uint32_t last = VT_NO_INDEX;

	for (uint32_t i = 0; i < passes->nr && passes->passes[i].first_event <= event; i++)
		last = i;
	return last;
}

static int has_backward(const struct vt_stages *stages, int64_t from, int64_t to)
{
	uint32_t s = vt_stages_span_at(stages, from);

	for (; s < stages->nr_spans && stages->spans[s].first_event <= to; s++)
		if (stages->spans[s].stage == VT_STAGE_BACKWARD)
			return 1;
	return 0;
}

/* Of the same module, one after the other; in decoding of the same generation. */
static int is_next(const struct vt_stages *stages, const struct vt_pass *pass,
		   const struct vt_pass *then)
{
	return pass->module == then->module && pass->kind == then->kind &&
	       pass->generation == then->generation &&
	       !has_backward(stages, pass->first_event, then->first_event);
}

/* As asked for: blocks are rounded, large ones to parts of their segments, and grow by leaps. */
static uint64_t live_before(const struct vt_model *model, int device, int64_t event)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->common->device == device && vt_allocation_is_owned(a) && a->event < event &&
		    a->freed_event >= event)
			bytes += vt_allocation_asked_bytes(a);
	}
	return bytes;
}

/* Made by one of the passes or behind it, and alive in the last. */
static uint32_t largest_left(const struct vt_model *model, int device, int64_t from, int64_t to)
{
	uint32_t largest = VT_NO_INDEX;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->common->device == device && vt_allocation_is_owned(a) && a->event >= from &&
		    a->event < to && a->freed_event >= to &&
		    (largest == VT_NO_INDEX ||
		     a->common->size_bytes > model->allocations[largest].common->size_bytes))
			largest = i;
	}
	return largest;
}

void vt_next_passes_find(struct vt_next_passes *next, struct vt_attribution *attribution,
			 const struct vt_out_of_memory *oom, uint64_t free_bytes)
{
	const struct vt_stages *stages = attribution->facts->stages;
	const struct vt_pass *all = stages->passes.passes;
	const struct vt_model *model = attribution->facts->model;
	uint32_t last = last_before(&stages->passes, oom->event), first = last;
	uint64_t bytes[MOST_PASSES];
	uint32_t nr, nr_growing = 0;

	memset(next, 0, sizeof(*next));
	if (last == VT_NO_INDEX || has_backward(stages, all[last].first_event, oom->event))
		return;
	while (first && last - first + 1 < MOST_PASSES &&
	       is_next(stages, &all[first - 1], &all[last]))
		first--;
	nr = last - first + 1;
	if (nr < LEAST_PASSES)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		bytes[i] = live_before(model, oom->device, all[first + i].first_event);
		/* The first may find what the pass before the row left. */
		nr_growing += i > 1 && bytes[i] > bytes[i - 1];
	}
	if (nr_growing < (nr - 2) * LEAST_GROWING || bytes[nr - 1] <= bytes[1])
		return;
	next->bytes_each = (bytes[nr - 1] - bytes[1]) / (nr - 2);
	next->more = (uint32_t)(next->bytes_each ? free_bytes / next->bytes_each : 0);
	next->allocation = largest_left(model, oom->device, all[first].first_event,
					all[last].first_event);
	if (next->allocation == VT_NO_INDEX)
		return;
	next->nr = nr;
	next->is_decoding =
		all[last].kind == VT_PASS_DECODE ||
		!strcmp(vt_attribution_owner(
				attribution,
				vt_attribution_judge(attribution, next->allocation).owner),
			"kv cache");
}
