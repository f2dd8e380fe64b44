/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/traces.h"

#include <string.h>

#include "analyzer/replay/laps.h"
#include "analyzer/replay/streams.h"

void vt_traces_init(struct vt_traces *traces, struct vt_db *db, const struct vt_timeline *timeline)
{
	memset(traces, 0, sizeof(*traces));
	traces->timeline = timeline;
	traces->are_misread = vt_trace_settings(&traces->settings, db, &traces->misread) != 0;
}

void vt_traces_release(struct vt_traces *traces)
{
	for (size_t i = 0; i < traces->items.len; i++) {
		vt_trace_release(&traces->items.items[i]->trace);
		free(traces->items.items[i]);
	}
	vt_vector_release(&traces->items);
	memset(traces, 0, sizeof(*traces));
}

/*
 * Where a replay comes to each block of the recording, nothing has to be found that it does not
 * know; a replay is worth having, too, and costs half of the search.
 */
static void find_streams(struct vt_trace_ready *ready)
{
	ready->nr_streams = vt_streams_take(&ready->trace);
	vt_laps_find(&ready->trace);
	if (!ready->trace.settings.is_expandable && vt_replay_is_exact(vt_traces_recorded(ready)))
		return;
	ready->has_recorded = 0;
	ready->nr_streams = vt_streams_find(&ready->trace);
	vt_laps_find(&ready->trace);
}

static struct vt_trace_ready *read_trace(struct vt_traces *traces, int device)
{
	struct vt_trace_ready *ready = vt_xcalloc(1, sizeof(*ready));

	vt_vector_push(&traces->items, ready);
	if (vt_trace_init(&ready->trace, traces->timeline, device, &traces->settings,
			 &ready->unplayed))
		return ready;
	ready->is_playable = 1;
	vt_requests_find(&ready->requests, &ready->trace);
	find_streams(ready);
	return ready;
}

struct vt_trace_ready *vt_traces_get(struct vt_traces *traces, int device, struct vt_diag *diag)
{
	struct vt_trace_ready *found = NULL;

	if (traces->are_misread) {
		if (diag)
			*diag = traces->misread;
		return NULL;
	}
	for (size_t i = 0; i < traces->items.len; i++)
		if (traces->items.items[i]->trace.device == device)
			found = traces->items.items[i];
	if (!found)
		found = read_trace(traces, device);
	if (found->is_playable)
		return found;
	if (diag)
		*diag = found->unplayed;
	return NULL;
}

/* Fills `until_failed` too: what comes up to there is the same, whatever comes behind. */
static void play(struct vt_replay *replay, struct vt_replay *until_failed,
		 const struct vt_trace *trace, struct vt_replay_options *options)
{
	size_t nr = trace->steps.len;

	options->noted_step = nr;
	options->noted = until_failed;
	for (size_t i = nr; i-- > 0 && options->noted_step == nr;)
		if (trace->steps.items[i].op == VT_TRACE_FAILED)
			options->noted_step = i;
	vt_replay_run(replay, trace, options);
	/* It did not come that far. */
	if (replay->failure.event && options->noted_step < nr &&
	    replay->failure.event <=
		    vt_trace_event(trace, &trace->steps.items[options->noted_step]))
		*until_failed = *replay;
}

const struct vt_replay *vt_traces_recorded(struct vt_trace_ready *ready)
{
	struct vt_replay_options options;

	if (!ready->has_recorded) {
		vt_replay_options_init(&options, &ready->trace);
		options.is_compared = 1;
		play(&ready->recorded, &ready->until_failed, &ready->trace, &options);
	}
	ready->has_recorded = 1;
	return &ready->recorded;
}

const struct vt_replay *vt_traces_expandable(struct vt_trace_ready *ready)
{
	struct vt_replay_options options;

	if (!ready->has_expandable) {
		vt_replay_options_init(&options, &ready->trace);
		options.settings.is_expandable = 1;
		play(&ready->expandable, &ready->expandable_until_failed, &ready->trace, &options);
	}
	ready->has_expandable = 1;
	return &ready->expandable;
}
