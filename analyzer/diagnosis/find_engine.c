/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_engine.h"

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/map.h"
#include "analyzer/base/units.h"

/* Of the highest use: the cache of an engine, not what one model keeps of one prompt. */
#define CACHE_SHARE 0.05

/* What a profiling run makes for each request, or for each token; as fewer as engines.def says. */
struct trial {
	enum vt_finding_id id;
	uint32_t owners;
	uint64_t parts;
	const char *fewer;
	/* Buffers as large as those blocks, made before the run and kept, have a row for each. */
	int has_buffers;
};

static const struct trial trials[] = {
	{ VT_FINDING_TRIAL_OF_REQUESTS, VT_OWNERS_LOGITS, 4, "a quarter", 1 },
	{ VT_FINDING_TRIAL_OF_TOKENS, VT_OWNERS_ACTIVATIONS, 2, "half", 0 },
};

/* The event at which the first block of the cache was made; VT_NEVER: there is no such cache. */
static int64_t find_cache(const struct vt_finding_context *context)
{
	const struct vt_allocation *all = context->model->allocations;
	int64_t first = VT_NEVER;
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];

		if (!vt_finding_context_is_owner(context, i, VT_OWNERS_KV_CACHE))
			continue;
		bytes += all[i].common->size_bytes;
		first = all[i].event < first ? all[i].event : first;
	}
	return (double)bytes < CACHE_SHARE * (double)context->peak_bytes ? VT_NEVER : first;
}

static int is_before_cache(const struct vt_finding_context *context, uint32_t i,
			   int64_t cache_event)
{
	const struct vt_allocation *a = &context->model->allocations[i];

	return a->event < cache_event && a->common->device == context->device &&
	       vt_allocation_is_owned(a);
}

static struct vt_key size_key(const struct vt_allocation *a)
{
	return (struct vt_key){ vt_block_rounding_block_bytes(a), 0, 0 };
}

static void add_part(struct vt_savings *savings, const struct trial *trial,
		     const struct vt_allocation *a)
{
	vt_savings_add(savings, a, a->common->size_bytes / trial->parts * (trial->parts - 1));
}

/* Returns the largest block of the profiling run that becomes smaller; VT_NO_INDEX: none does. */
static uint32_t add_blocks_of_run(struct vt_finding_context *context, const struct trial *trial,
				  int64_t cache_event, struct vt_savings *savings,
				  struct vt_map *sizes)
{
	const struct vt_allocation *all = context->model->allocations;
	uint32_t largest = VT_NO_INDEX;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		if (!is_before_cache(context, i, cache_event) || all[i].freed_event > cache_event ||
		    !vt_finding_context_is_owner(context, i, trial->owners))
			continue;
		add_part(savings, trial, &all[i]);
		vt_map_put(sizes, size_key(&all[i]), 1);
		if (largest == VT_NO_INDEX ||
		    all[i].common->size_bytes > all[largest].common->size_bytes)
			largest = i;
	}
	return largest;
}

/* Weights may have that size by chance; an engine's own buffers are no part of its model. */
static void add_buffers(struct vt_finding_context *context, const struct trial *trial,
			int64_t cache_event, struct vt_savings *savings, const struct vt_map *sizes)
{
	const struct vt_allocation *all = context->model->allocations;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++)
		if (is_before_cache(context, i, cache_event) && all[i].freed_event > cache_event &&
		    vt_finding_context_is_owner(context, i, VT_OWNERS_USER) &&
		    vt_map_find(sizes, size_key(&all[i])))
			add_part(savings, trial, &all[i]);
}

static void find_trial(struct vt_finding_context *context, const struct trial *trial,
		       int64_t cache_event)
{
	struct vt_savings savings = { 0 };
	struct vt_map sizes = { 0 };
	uint32_t largest = add_blocks_of_run(context, trial, cache_event, &savings, &sizes);
	uint64_t before, after;
	char from[VT_UNITS_MAX], to[VT_UNITS_MAX];

	if (trial->has_buffers)
		add_buffers(context, trial, cache_event, &savings, &sizes);
	before = vt_savings_peak_before(NULL, &context->allocated, cache_event);
	after = vt_savings_peak_before(&savings, &context->allocated, cache_event);
	vt_vector_release(&savings);
	vt_map_release(&sizes);
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
