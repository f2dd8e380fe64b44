/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TAPES_H
#define VT_ANALYZER_TAPES_H

/*
 * The tapes of a recording, one per device, each read once whoever asks for it: with the sizes that
 * were asked for and the streams found, ready to be played; and what playing them as they are comes
 * to.
 *
 * Threads: the database is asked by vt_tapes_init alone.  Everything else may run beside what asks
 * it, in one thread at a time.
 */

#include "analyzer/replay/replay.h"
#include "analyzer/replay/requests.h"

struct vt_tape_ready {
	struct vt_tape tape;
	struct vt_requests requests;
	uint32_t nr_streams;
	struct vt_diag unplayed; /* why there is nothing to play */
	uint8_t is_playable;
	uint8_t has_recorded;
	uint8_t has_expandable;
	struct vt_replay recorded;
	struct vt_replay until_failed; /* the part of it that ends with the last failed request */
	struct vt_replay expandable;
};

struct vt_tapes {
	const struct vt_timeline *timeline;
	struct vt_settings settings; /* the recorded ones */
	struct vt_diag misread;	     /* why they cannot be known */
	uint8_t are_misread;
	VT_VECTOR(struct vt_tape_ready *) items;
};

/* Both are borrowed; the timeline need not be filled yet. */
void vt_tapes_init(struct vt_tapes *tapes, struct vt_db *db, const struct vt_timeline *timeline);
void vt_tapes_release(struct vt_tapes *tapes);

/*
 * That of a device; borrowed until the release.  NULL with `diag` filled where vt_tape_init says
 * so.
 */
struct vt_tape_ready *vt_tapes_get(struct vt_tapes *tapes, int device, struct vt_diag *diag);

/* Those of all devices that have blocks; for each, vt_tapes_get is quick afterwards. */
void vt_tapes_read(struct vt_tapes *tapes);

/*
 * What the whole of it comes to with the recorded settings, compared with the recording; fills
 * `until_failed` where a request failed.
 */
const struct vt_replay *vt_tapes_recorded(struct vt_tape_ready *ready);
/* ... with expandable segments besides, which it must not have. */
const struct vt_replay *vt_tapes_expandable(struct vt_tape_ready *ready);

#endif
