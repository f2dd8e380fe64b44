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
	vt_finding_context_add_replayed(context, id, recorded, changed,
			      vt_xasprintf("%s reserved at most, %s in the replay", from, to));
}

/* What is played beside each other: none changes the trace. */
enum { EXPANDABLE, AFTER_LOAD, UNROUNDED, NR_TRIES };

struct trying {
	const struct vt_finding_context *context;
	struct vt_trace_ready *ready;
	struct vt_replay replays[NR_TRIES];
	uint8_t is_tried[NR_TRIES];
};

static void try_expandable(struct trying *trying)
{
	if (trying->ready->trace.settings.is_expandable)
		return;
	trying->replays[EXPANDABLE] = *vt_traces_expandable(trying->ready);
	trying->is_tried[EXPANDABLE] = 1;
}

static void try_unrounded(struct trying *trying)
{
	const struct vt_trace *trace = &trying->ready->trace;
	struct vt_replay_options options;
	int is_set = 0;

	for (unsigned i = 0; i < VT_SETTINGS_INTERVALS; i++)
		is_set |= trace->settings.divisions[i] > 1;
	if (!is_set)
		return;
	vt_replay_options_init(&options, trace);
	memset(options.settings.divisions, 0, sizeof(options.settings.divisions));
	vt_replay_run(&trying->replays[UNROUNDED], trace, &options);
	trying->is_tried[UNROUNDED] = 1;
}

/* The first event behind loading; VT_NEVER: there is nothing behind it. */
static int64_t end_of_load(const struct vt_finding_context *context)
{
	const struct vt_stages *stages = context->facts->stages;

	for (uint32_t i = 0; i < stages->nr_spans; i++)
		if (stages->spans[i].stage != VT_STAGE_LOAD)
			return i ? stages->spans[i].first_event : VT_NEVER;
	return VT_NEVER;
}

static void try_after_load(struct trying *trying)
{
	const struct vt_trace *trace = &trying->ready->trace;
	int64_t event = end_of_load(trying->context);
	struct vt_replay_options options;
	size_t at = 0;

	while (at < trace->steps.len && trace->steps.items[at].event < event)
		at++;
	if (!at || at == trace->steps.len)
		return;
	vt_replay_options_init(&options, trace);
	options.emptied_step = at;
	vt_replay_run(&trying->replays[AFTER_LOAD], trace, &options);
	trying->is_tried[AFTER_LOAD] = 1;
}

static void try_one(void *context, size_t number)
{
	if (number == EXPANDABLE)
		try_expandable(context);
	else if (number == AFTER_LOAD)
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

void vt_find_cache_detect(struct vt_finding_context *context)
{
	static const enum vt_finding_id ids[NR_TRIES] = {
		[EXPANDABLE] = VT_FINDING_FRAGMENTATION,
		[AFTER_LOAD] = VT_FINDING_CACHE_AFTER_LOAD,
		[UNROUNDED] = VT_FINDING_ROUNDED_REQUESTS,
	};
	struct trying trying = { .context = context };

	if (!vt_trace_has_blocks(context->model, context->device))
		return;
	trying.ready = vt_traces_get(context->traces, context->device, NULL);
	if (!trying.ready || !vt_replay_is_exact(vt_traces_recorded(trying.ready)))
		return;
	vt_parallel_run(NR_TRIES, try_one, &trying);
	for (unsigned i = 0; i < NR_TRIES; i++)
		if (trying.is_tried[i])
			add(context, ids[i], vt_traces_recorded(trying.ready), &trying.replays[i]);
}
