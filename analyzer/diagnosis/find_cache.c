/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_cache.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/requests.h"
#include "analyzer/replay/streams.h"

/* Of the highest use.  Less comes and goes with the order of requests. */
#define RESERVED_SHARE 0.05

static void add(struct vt_scene *scene, enum vt_finding_id id, const struct vt_replay *recorded,
		const struct vt_replay *changed)
{
	uint64_t before = recorded->peak_used_bytes, after = changed->peak_used_bytes;
	char from[VT_UNITS_MAX], to[VT_UNITS_MAX];

	if (changed->failure.event || after >= before ||
	    (double)(before - after) < RESERVED_SHARE * (double)before)
		return;
	vt_units_bytes(from, sizeof(from), recorded->peak_reserved_bytes);
	vt_units_bytes(to, sizeof(to), changed->peak_reserved_bytes);
	vt_scene_add_replayed(scene, id, before - after,
				 vt_xasprintf("%s reserved at most, %s in the replay", from, to));
}

static void try_expandable(struct vt_scene *scene, const struct vt_tape *tape,
			   const struct vt_replay *recorded)
{
	struct vt_replay_options options;
	struct vt_replay replay;

	if (tape->settings.is_expandable)
		return;
	vt_replay_options_init(&options, tape);
	options.settings.is_expandable = 1;
	vt_replay_run(&replay, tape, &options);
	add(scene, VT_FINDING_FRAGMENTATION, recorded, &replay);
}

static void try_no_rounding(struct vt_scene *scene, const struct vt_tape *tape,
			    const struct vt_replay *recorded)
{
	struct vt_replay_options options;
	struct vt_replay replay;
	int is_set = 0;

	for (unsigned i = 0; i < VT_SETTINGS_INTERVALS; i++)
		is_set |= tape->settings.divisions[i] > 1;
	if (!is_set)
		return;
	vt_replay_options_init(&options, tape);
	memset(options.settings.divisions, 0, sizeof(options.settings.divisions));
	vt_replay_run(&replay, tape, &options);
	add(scene, VT_FINDING_ROUNDED_REQUESTS, recorded, &replay);
}

/* The first event behind loading; VT_NEVER: there is nothing behind it. */
static int64_t end_of_load(const struct vt_scene *scene)
{
	const struct vt_stages *stages = scene->facts->stages;

	for (uint32_t i = 0; i < stages->nr_spans; i++)
		if (stages->spans[i].stage != VT_STAGE_LOAD)
			return i ? stages->spans[i].first_event : VT_NEVER;
	return VT_NEVER;
}

static void try_empty_cache(struct vt_scene *scene, const struct vt_tape *tape,
			    const struct vt_replay *recorded)
{
	int64_t event = end_of_load(scene);
	struct vt_tape emptied = *tape;
	struct vt_replay_options options;
	struct vt_replay replay;
	size_t at = 0;

	while (at < tape->steps.len && tape->steps.items[at].event < event)
		at++;
	if (!at || at == tape->steps.len)
		return;
	memset(&emptied.steps, 0, sizeof(emptied.steps));
	vt_vector_reserve(&emptied.steps, tape->steps.len + 1);
	memcpy(emptied.steps.items, tape->steps.items, at * sizeof(*emptied.steps.items));
	emptied.steps.items[at] = (struct vt_tape_step){ .event = event,
							 .segment = VT_NO_INDEX,
							 .op = VT_TAPE_EMPTY_CACHE };
	memcpy(emptied.steps.items + at + 1, tape->steps.items + at,
	       (tape->steps.len - at) * sizeof(*emptied.steps.items));
	emptied.steps.len = tape->steps.len + 1;
	vt_replay_options_init(&options, &emptied);
	vt_replay_run(&replay, &emptied, &options);
	vt_vector_release(&emptied.steps);
	add(scene, VT_FINDING_CACHE_AFTER_LOAD, recorded, &replay);
}

void vt_find_cache_detect(struct vt_scene *scene)
{
	struct vt_replay_options options;
	struct vt_requests requests;
	struct vt_replay recorded;
	struct vt_tape tape;

	if (!vt_tape_has_blocks(scene->model, scene->device))
		return;
	if (vt_tape_init(&tape, scene->timeline, scene->device, NULL)) {
		vt_tape_release(&tape);
		return;
	}
	vt_requests_find(&requests, &tape);
	vt_streams_find(&tape);
	vt_replay_options_init(&options, &tape);
	options.is_compared = 1;
	vt_replay_run(&recorded, &tape, &options);
	if (vt_replay_is_exact(&recorded)) {
		try_expandable(scene, &tape, &recorded);
		try_empty_cache(scene, &tape, &recorded);
		try_no_rounding(scene, &tape, &recorded);
	}
	vt_tape_release(&tape);
}
