/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_engine.h"

#include "analyzer/base/units.h"

/* Of the highest use: the cache of an engine, not what one model keeps of one prompt. */
#define CACHE_SHARE 0.05

/* What a profiling run makes for each request, or for each token; as fewer as engines.def says. */
struct trial {
	enum vt_finding_id id;
	const char *owner;
	uint64_t parts;
	const char *fewer;
};

static const struct trial trials[] = {
	{ VT_FINDING_TRIAL_OF_REQUESTS, "logits", 4, "a quarter" },
	{ VT_FINDING_TRIAL_OF_TOKENS, "activations", 2, "half" },
};

/* The event at which the first block of the cache was made; VT_NEVER: there is no such cache. */
static int64_t find_cache(const struct vt_finding_context *context)
{
	const struct vt_allocation *all = context->model->allocations;
	int64_t first = VT_NEVER;
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];

		if (!vt_finding_context_is_owner(context, i, "kv cache"))
			continue;
		bytes += all[i].common->size_bytes;
		first = all[i].event < first ? all[i].event : first;
	}
	return (double)bytes < CACHE_SHARE * (double)context->peak_bytes ? VT_NEVER : first;
}

static void find_trial(struct vt_finding_context *context, const struct trial *trial,
		       int64_t cache_event)
{
	const struct vt_allocation *all = context->model->allocations;
	struct vt_savings savings = { 0 };
	uint32_t largest = VT_NO_INDEX;
	uint64_t before, after;
	char from[VT_UNITS_MAX], to[VT_UNITS_MAX];

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		if (all[i].event >= cache_event || all[i].freed_event > cache_event ||
		    all[i].common->device != context->device || !vt_allocation_is_owned(&all[i]) ||
		    !vt_finding_context_is_owner(context, i, trial->owner))
			continue;
		vt_savings_add(&savings, &all[i],
			       all[i].common->size_bytes / trial->parts * (trial->parts - 1));
		if (largest == VT_NO_INDEX ||
		    all[i].common->size_bytes > all[largest].common->size_bytes)
			largest = i;
	}
	before = vt_savings_peak_before(NULL, context->timeline, context->device, cache_event);
	after = vt_savings_peak_before(&savings, context->timeline, context->device, cache_event);
	vt_vector_release(&savings);
	if (largest == VT_NO_INDEX || after >= before)
		return;
	vt_units_bytes(from, sizeof(from), before);
	vt_units_bytes(to, sizeof(to), after);
	vt_finding_context_add_for_cache(
		context, trial->id, before - after, largest,
		vt_xasprintf("%s before it, %s with %s", from, to, trial->fewer));
}

void vt_find_engine_detect(struct vt_finding_context *context)
{
	int64_t cache_event;

	if (!context->engine)
		return;
	cache_event = find_cache(context);
	for (size_t i = 0; cache_event != VT_NEVER && i < VT_ARRAY_SIZE(trials); i++)
		find_trial(context, &trials[i], cache_event);
}
