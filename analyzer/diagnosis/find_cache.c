/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_cache.h"

#include <string.h>

#include "analyzer/base/parallel.h"
#include "analyzer/base/units.h"

/* Of the highest use.  Less comes and goes with the order of requests. */
#define RESERVED_SHARE 0.05

static void add(struct vt_finding_context *context, enum vt_finding_id id,
		const struct vt_replay *recorded, const struct vt_replay *changed)
{
	uint64_t before = recorded->peak_used_bytes, after = changed->peak_used_bytes;
	char from[VT_UNITS_MAX], to[VT_UNITS_MAX];

	if (changed->failure.event || after >= before ||
	    (double)(before - after) < RESERVED_SHARE * (double)before)
		return;
	vt_units_bytes(from, sizeof(from), recorded->peak_reserved_bytes);
	vt_units_bytes(to, sizeof(to), changed->peak_reserved_bytes);
	vt_finding_context_add_replayed(
		context, id, recorded, changed,
		vt_xasprintf("%s reserved at the peak, %s in the replay", from, to));
}

static void try_expandable(struct vt_cache_replays *cache)
{
	if (cache->ready->trace.settings.is_expandable)
		return;
	cache->replays[VT_CACHE_EXPANDABLE] = *vt_traces_expandable(cache->ready);
	cache->is_tried[VT_CACHE_EXPANDABLE] = 1;
}

static void try_unrounded(struct vt_cache_replays *cache)
{
	const struct vt_trace *trace = &cache->ready->trace;
	struct vt_replay_options options;
	int is_set = 0;

	for (unsigned i = 0; i < VT_SETTINGS_INTERVALS; i++)
		is_set |= trace->settings.divisions[i] > 1;
	if (!is_set)
		return;
	vt_replay_options_init(&options, trace);
	memset(options.settings.divisions, 0, sizeof(options.settings.divisions));
	vt_replay_run(&cache->replays[VT_CACHE_UNROUNDED], trace, &options);
	cache->is_tried[VT_CACHE_UNROUNDED] = 1;
}

/* The first event behind loading; VT_NEVER: there is nothing behind it. */
static int64_t end_of_load(const struct vt_stages *stages)
{
	for (uint32_t i = 0; i < stages->nr_spans; i++)
		if (stages->spans[i].stage != VT_STAGE_LOAD)
			return i ? stages->spans[i].first_event : VT_NEVER;
	return VT_NEVER;
}

static void try_after_load(struct vt_cache_replays *cache)
{
	const struct vt_trace *trace = &cache->ready->trace;
	int64_t event = end_of_load(cache->stages);
	struct vt_replay_options options;
	size_t at = 0;

	while (at < trace->steps.len && vt_trace_event(trace, &trace->steps.items[at]) < event)
		at++;
	if (!at || at == trace->steps.len)
		return;
	vt_replay_options_init(&options, trace);
	options.emptied_step = at;
	vt_replay_run(&cache->replays[VT_CACHE_AFTER_LOAD], trace, &options);
	cache->is_tried[VT_CACHE_AFTER_LOAD] = 1;
}

static void try_one(void *context, size_t number)
{
	if (number == VT_CACHE_EXPANDABLE)
		try_expandable(context);
	else if (number == VT_CACHE_AFTER_LOAD)
		try_after_load(context);
	else
		try_unrounded(context);
}

void vt_find_cache_prepare(struct vt_traces *traces, int device)
{
	struct vt_trace_ready *ready = vt_traces_get(traces, device, NULL);

	if (ready && vt_replay_is_exact(vt_traces_recorded(ready)) &&
	    !ready->trace.settings.is_expandable)
		vt_traces_expandable(ready);
}

void vt_find_cache_begin(struct vt_cache_replays *cache, const struct vt_finding_context *context)
{
	memset(cache, 0, sizeof(*cache));
	if (!vt_trace_has_blocks(context->model, context->device))
		return;
	cache->ready = vt_traces_get(context->traces, context->device, NULL);
	if (cache->ready && !vt_replay_is_exact(vt_traces_recorded(cache->ready)))
		cache->ready = NULL;
	cache->stages = context->facts->stages;
}

void vt_find_cache_play(struct vt_cache_replays *cache)
{
	if (cache->ready)
		vt_parallel_run(VT_NR_CACHE_TRIES, try_one, cache);
}

void vt_find_cache_detect(struct vt_finding_context *context, const struct vt_cache_replays *cache)
{
	static const enum vt_finding_id ids[VT_NR_CACHE_TRIES] = {
		[VT_CACHE_EXPANDABLE] = VT_FINDING_FRAGMENTATION,
		[VT_CACHE_AFTER_LOAD] = VT_FINDING_CACHE_AFTER_LOAD,
		[VT_CACHE_UNROUNDED] = VT_FINDING_ROUNDED_REQUESTS,
	};

	for (unsigned i = 0; i < VT_NR_CACHE_TRIES; i++)
		if (cache->is_tried[i])
			add(context, ids[i], vt_traces_recorded(cache->ready), &cache->replays[i]);
}
