/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/remedies.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/parallel.h"
#include "analyzer/base/units.h"

/*
 * What the notes of PyTorch's allocator give as the place to begin; below 1, a fraction of the
 * memory has to be set too, or the threshold does nothing.
 */
#define GC_SETTINGS "garbage_collection_threshold:0.8,per_process_memory_fraction:0.99"

/* MiB; PyTorch takes none up to the size of its usual segments, 20 MiB. */
static const unsigned split_limits[] = { 32, 64, 128, 256, 512, 1024 };

static const char *const texts[VT_NR_REMEDIES] = {
#define VT_REMEDY_TEXT(name, text) text,
	VT_REMEDIES(VT_REMEDY_TEXT)
#undef VT_REMEDY_TEXT
};

int vt_remedies_cut(struct vt_tape *cut, const struct vt_tape *tape, uint32_t oom)
{
	size_t at = 0;

	while (at < tape->steps.len && !(tape->steps.items[at].op == VT_TAPE_FAILED &&
					 tape->steps.items[at].allocation == oom))
		at++;
	if (at == tape->steps.len)
		return -1;
	*cut = *tape;
	memset(&cut->steps, 0, sizeof(cut->steps));
	vt_vector_reserve(&cut->steps, at + 1);
	memcpy(cut->steps.items, tape->steps.items, (at + 1) * sizeof(*cut->steps.items));
	cut->steps.len = at + 1;
	while (cut->changes.len &&
	       cut->changes.items[cut->changes.len - 1].event > tape->steps.items[at].event)
		cut->changes.len--;
	return 0;
}

void vt_remedies_uncut(struct vt_tape *cut)
{
	vt_vector_release(&cut->steps);
}

/* What one of the tries below has to go by, and to fill in. */
struct trying {
	const struct vt_tape *cut;
	struct vt_remedies *remedies;
};

/* Returns the largest segment of a fixed size that was made. */
static uint64_t play(struct vt_remedy *remedy, const struct vt_tape *cut,
		     const struct vt_settings *settings)
{
	int64_t wanted = cut->steps.items[cut->steps.len - 1].event;
	struct vt_replay_options options;
	struct vt_replay replay;

	vt_replay_options_init(&options, cut);
	options.settings = *settings;
	vt_replay_run(&replay, cut, &options);
	remedy->is_served = replay.rescued_event == wanted;
	remedy->failed_event = replay.failure.event;
	remedy->reserved_bytes = replay.peak_reserved_bytes;
	return replay.largest_segment_bytes;
}

static uint64_t play_text(struct vt_remedy *remedy, const struct vt_tape *cut, const char *text)
{
	struct vt_settings settings = cut->settings;
	struct vt_diag diag;

	snprintf(remedy->text, sizeof(remedy->text), "%s", text);
	return vt_settings_parse(&settings, text, &diag) ? 0 : play(remedy, cut, &settings);
}

static int is_better(const struct vt_remedy *remedy, const struct vt_remedy *than)
{
	if (remedy->is_served != than->is_served)
		return remedy->is_served;
	if (!remedy->failed_event != !than->failed_event)
		return !remedy->failed_event;
	return remedy->reserved_bytes < than->reserved_bytes;
}

/*
 * The best of the limits; where none of them changes anything, the first.  A limit that no segment
 * came up to changed nothing, and a higher one does not either.
 */
static void try_split_limits(struct vt_remedy *remedy, const struct vt_tape *cut)
{
	int is_met = 1;

	for (size_t i = 0; is_met && i < VT_ARRAY_SIZE(split_limits); i++) {
		struct vt_remedy tried = { 0 };
		uint64_t largest;
		char text[48];

		snprintf(text, sizeof(text), "max_split_size_mb:%u", split_limits[i]);
		largest = play_text(&tried, cut, text);
		is_met = cut->settings.is_expandable || largest >= split_limits[i] * VT_MIB;
		if (!i || is_better(&tried, remedy))
			*remedy = tried;
	}
}

static void empty_before(struct vt_remedy *remedy, const struct vt_tape *cut)
{
	struct vt_tape emptied = *cut;
	size_t last = cut->steps.len - 1;
	struct vt_tape_step step = { .event = cut->steps.items[last].event,
				     .segment = VT_NO_INDEX,
				     .op = VT_TAPE_EMPTY_CACHE };

	/* A copy: others play the tape at the same time. */
	memset(&emptied.steps, 0, sizeof(emptied.steps));
	vt_vector_reserve(&emptied.steps, last + 2);
	memcpy(emptied.steps.items, cut->steps.items, last * sizeof(step));
	emptied.steps.items[last] = step;
	emptied.steps.items[last + 1] = cut->steps.items[last];
	emptied.steps.len = last + 2;
	play(remedy, &emptied, &cut->settings);
	vt_vector_release(&emptied.steps);
}

/* One of the remedies, or behind them what was recorded. */
static void try_one(void *context, size_t kind)
{
	const struct trying *trying = context;
	const struct vt_tape *cut = trying->cut;
	struct vt_remedy *remedy = &trying->remedies->items[kind];
	struct vt_replay_options options;

	if (kind < VT_NR_REMEDIES && remedy->is_on)
		return;
	switch (kind) {
	case VT_REMEDY_EXPANDABLE:
		play_text(remedy, cut, "expandable_segments:True");
		break;
	case VT_REMEDY_MAX_SPLIT:
		try_split_limits(remedy, cut);
		break;
	case VT_REMEDY_GC:
		play_text(remedy, cut, GC_SETTINGS);
		break;
	case VT_REMEDY_EMPTY_CACHE:
		empty_before(remedy, cut);
		break;
	default:
		vt_replay_options_init(&options, cut);
		options.is_compared = 1;
		vt_replay_run(&trying->remedies->recorded, cut, &options);
		break;
	}
}

static int is_on(const struct vt_settings *settings, enum vt_remedy_kind kind)
{
	switch (kind) {
	case VT_REMEDY_EXPANDABLE:
		return settings->is_expandable;
	case VT_REMEDY_MAX_SPLIT:
		return settings->max_split_bytes != VT_SETTINGS_UNLIMITED;
	case VT_REMEDY_GC:
		return settings->gc_threshold > 0;
	default:
		return 0;
	}
}

void vt_remedies_find(struct vt_remedies *remedies, const struct vt_tape *tape, uint32_t oom)
{
	struct vt_remedy *items = remedies->items;
	struct vt_tape cut;

	memset(remedies, 0, sizeof(*remedies));
	for (int i = 0; i < VT_NR_REMEDIES; i++) {
		snprintf(items[i].text, sizeof(items[i].text), "%s", texts[i]);
		items[i].is_on = (uint8_t)is_on(&tape->settings, i);
	}
	if (vt_remedies_cut(&cut, tape, oom))
		return;
	vt_parallel_run(VT_NR_REMEDIES + 1, try_one,
			&(struct trying){ .cut = &cut, .remedies = remedies });
	vt_remedies_uncut(&cut);
}
