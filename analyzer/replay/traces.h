/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TRACES_H
#define VT_ANALYZER_TRACES_H

/*
 * The traces of a recording, one per device, each read once: with the requested sizes and the
 * streams found, ready to be replayed; and what replaying them unchanged gives.
 *
 * Threads: the database is asked by vt_traces_init alone.  Everything else may run beside what asks
 * it, in one thread at a time.
 */

#include "analyzer/replay/replay.h"
#include "analyzer/replay/requests.h"

struct vt_trace_ready {
	struct vt_trace trace;
	struct vt_requests requests;
	uint32_t nr_streams;
	struct vt_diag unplayed; /* why there is nothing to play */
	uint8_t is_playable;
	uint8_t has_recorded;
	uint8_t has_expandable;
	struct vt_replay recorded;
	/* The parts of them that end with the last failed request. */
	struct vt_replay until_failed;
	struct vt_replay expandable;
	struct vt_replay expandable_until_failed;
};

struct vt_traces {
	const struct vt_timeline *timeline;
	struct vt_settings settings; /* the recorded ones */
	struct vt_diag misread;	     /* why they cannot be known */
	uint8_t are_misread;
	VT_VECTOR(struct vt_trace_ready *) items;
};

/* Both are borrowed; the timeline need not be filled yet. */
void vt_traces_init(struct vt_traces *traces, struct vt_db *db, const struct vt_timeline *timeline);
void vt_traces_release(struct vt_traces *traces);

/*
 * That of a device; borrowed until the release.  NULL with `diag` filled where vt_trace_init says
 * so.
 */
struct vt_trace_ready *vt_traces_get(struct vt_traces *traces, int device, struct vt_diag *diag);

/*
 * What the whole of it comes to with the recorded settings, compared with the recording; fills
 * `until_failed` where a request failed.
 */
const struct vt_replay *vt_traces_recorded(struct vt_trace_ready *ready);
/* ... with expandable segments besides, which it must not have; fills the part of it, too. */
const struct vt_replay *vt_traces_expandable(struct vt_trace_ready *ready);

#endif
