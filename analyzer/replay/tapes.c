/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/tapes.h"

#include <string.h>

#include "analyzer/replay/streams.h"

void vt_tapes_init(struct vt_tapes *tapes, struct vt_db *db, const struct vt_timeline *timeline)
{
	memset(tapes, 0, sizeof(*tapes));
	tapes->timeline = timeline;
	tapes->are_misread = vt_tape_settings(&tapes->settings, db, &tapes->misread) != 0;
}

void vt_tapes_release(struct vt_tapes *tapes)
{
	for (size_t i = 0; i < tapes->items.len; i++) {
		vt_tape_release(&tapes->items.items[i]->tape);
		free(tapes->items.items[i]);
	}
	vt_vector_release(&tapes->items);
	memset(tapes, 0, sizeof(*tapes));
}

/*
 * Where a replay comes to each block of the recording, nothing has to be found that it does not
 * know; a replay is worth having, too, and costs half of the search.
 */
static void find_streams(struct vt_tape_ready *ready)
{
	ready->nr_streams = vt_streams_take(&ready->tape);
	if (!ready->tape.settings.is_expandable && vt_replay_is_exact(vt_tapes_recorded(ready)))
		return;
	ready->has_recorded = 0;
	ready->nr_streams = vt_streams_find(&ready->tape);
}

static struct vt_tape_ready *read_tape(struct vt_tapes *tapes, int device)
{
	struct vt_tape_ready *ready = vt_xcalloc(1, sizeof(*ready));

	vt_vector_push(&tapes->items, ready);
	if (vt_tape_init(&ready->tape, tapes->timeline, device, &tapes->settings,
			 &ready->unplayed))
		return ready;
	ready->is_playable = 1;
	vt_requests_find(&ready->requests, &ready->tape);
	find_streams(ready);
	return ready;
}

struct vt_tape_ready *vt_tapes_get(struct vt_tapes *tapes, int device, struct vt_diag *diag)
{
	struct vt_tape_ready *found = NULL;

	if (tapes->are_misread) {
		if (diag)
			*diag = tapes->misread;
		return NULL;
	}
	for (size_t i = 0; i < tapes->items.len; i++)
		if (tapes->items.items[i]->tape.device == device)
			found = tapes->items.items[i];
	if (!found)
		found = read_tape(tapes, device);
	if (found->is_playable)
		return found;
	if (diag)
		*diag = found->unplayed;
	return NULL;
}

void vt_tapes_read(struct vt_tapes *tapes)
{
	const struct vt_model *model = tapes->timeline->model;

	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_tape_has_blocks(model, model->devices[i].id))
			vt_tapes_get(tapes, model->devices[i].id, NULL);
}

static void play_recorded(struct vt_tape_ready *ready)
{
	const struct vt_tape *tape = &ready->tape;
	struct vt_replay_options options;

	vt_replay_options_init(&options, tape);
	options.is_compared = 1;
	options.noted_step = tape->steps.len;
	options.noted = &ready->until_failed;
	for (size_t i = tape->steps.len; i-- > 0 && options.noted_step == tape->steps.len;)
		if (tape->steps.items[i].op == VT_TAPE_FAILED)
			options.noted_step = i;
	vt_replay_run(&ready->recorded, tape, &options);
	/* It did not come that far. */
	if (ready->recorded.failure.event && options.noted_step < tape->steps.len &&
	    ready->recorded.failure.event <= tape->steps.items[options.noted_step].event)
		ready->until_failed = ready->recorded;
}

const struct vt_replay *vt_tapes_recorded(struct vt_tape_ready *ready)
{
	if (!ready->has_recorded)
		play_recorded(ready);
	ready->has_recorded = 1;
	return &ready->recorded;
}

const struct vt_replay *vt_tapes_expandable(struct vt_tape_ready *ready)
{
	struct vt_replay_options options;

	if (!ready->has_expandable) {
		vt_replay_options_init(&options, &ready->tape);
		options.settings.is_expandable = 1;
		vt_replay_run(&ready->expandable, &ready->tape, &options);
	}
	ready->has_expandable = 1;
	return &ready->expandable;
}
