/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/oom_remedies.h"

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

/* Apart from the limits: VT_REMEDIES has these, and all limits as one. */
#define NR_OTHERS (VT_NR_REMEDIES - 1)

static const char *const texts[VT_NR_REMEDIES] = {
#define VT_REMEDY_TEXT(name, text) text,
	VT_REMEDIES(VT_REMEDY_TEXT)
#undef VT_REMEDY_TEXT
};

int vt_oom_remedies_cut(struct vt_trace *cut, const struct vt_trace *trace, uint32_t oom)
{
	size_t at = 0;

	while (at < trace->steps.len && !(trace->steps.items[at].op == VT_TRACE_FAILED &&
					 trace->steps.items[at].allocation == oom))
		at++;
	if (at == trace->steps.len)
		return -1;
	*cut = *trace;
	cut->steps.len = at + 1;
	while (cut->changes.len && cut->changes.items[cut->changes.len - 1].event >
					   vt_trace_event(trace, &trace->steps.items[at]))
		cut->changes.len--;
	return 0;
}

/* What one of the tries below has to go by, and to fill in. */
struct trying {
	struct vt_trace_ready *ready;
	const struct vt_trace *cut;
	struct vt_oom_remedies *remedies;
	struct vt_oom_remedy splits[VT_ARRAY_SIZE(split_limits)];
	struct vt_replay unchanged; /* the recorded settings, as the others are played */
	int is_refused;             /* by which only the request itself is */
};

static void take_over(struct vt_oom_remedy *remedy, const struct vt_trace *cut,
		      const struct vt_replay *replay)
{
	remedy->is_served =
		replay->rescued_event == vt_trace_event(cut, &cut->steps.items[cut->steps.len - 1]);
	remedy->failed_event = replay->failure.event;
	remedy->reserved_bytes = replay->peak_reserved_bytes;
}

/* With the cache emptied before a step; SIZE_MAX: before none. */
static void play(struct vt_oom_remedy *remedy, const struct vt_trace *cut,
		 const struct vt_settings *settings, size_t emptied_step)
{
	struct vt_replay_options options;
	struct vt_replay replay;

	vt_replay_options_init(&options, cut);
	options.settings = *settings;
	options.emptied_step = emptied_step;
	vt_replay_run(&replay, cut, &options);
	take_over(remedy, cut, &replay);
}

static void play_text(struct vt_oom_remedy *remedy, const struct vt_trace *cut, const char *text)
{
	struct vt_settings settings = cut->settings;
	struct vt_diag diag;

	snprintf(remedy->text, sizeof(remedy->text), "%s", text);
	if (!vt_settings_parse(&settings, text, &diag))
		play(remedy, cut, &settings, SIZE_MAX);
}

/* What the settings that change nothing come to; where all lies as recorded, that is at hand. */
static void find_unchanged(struct trying *trying)
{
	struct vt_replay_options options;

	trying->unchanged = trying->remedies->recorded;
	if (!vt_replay_is_exact(&trying->unchanged)) {
		vt_replay_options_init(&options, trying->cut);
		vt_replay_run(&trying->unchanged, trying->cut, &options);
	}
	trying->is_refused = !trying->unchanged.failure.event && !trying->unchanged.nr_rescued;
}

/*
 * Below the threshold nothing is collected, and what was served stays below the fraction; the
 * request is refused by one or by the other.
 */
static int is_never_collecting(const struct trying *trying)
{
	const struct vt_trace *cut = trying->cut;
	struct vt_settings settings = cut->settings;
	struct vt_diag diag;
	double limit;

	if (!trying->is_refused || settings.is_expandable || settings.memory_fraction < 1 ||
	    vt_settings_parse(&settings, GC_SETTINGS, &diag))
		return 0;
	limit = settings.gc_threshold * settings.memory_fraction * (double)cut->device_bytes;
	/* Less a megabyte: the allocator rounds on the way. */
	return (double)trying->unchanged.peak_reserved_bytes < limit - VT_MIB;
}

/* A limit that no segment comes up to changes nothing. */
static int is_never_met(const struct trying *trying, unsigned limit)
{
	return trying->is_refused && !trying->cut->settings.is_expandable &&
	       trying->unchanged.largest_segment_bytes < limit * VT_MIB;
}

static int is_better(const struct vt_oom_remedy *remedy, const struct vt_oom_remedy *than)
{
	if (remedy->is_served != than->is_served)
		return remedy->is_served;
	if (!remedy->failed_event != !than->failed_event)
		return !remedy->failed_event;
	return remedy->reserved_bytes < than->reserved_bytes;
}

static void take_over_as(struct vt_oom_remedy *remedy, const struct trying *trying,
			 const char *text)
{
	snprintf(remedy->text, sizeof(remedy->text), "%s", text);
	take_over(remedy, trying->cut, &trying->unchanged);
}

static void try_split_limit(struct trying *trying, size_t number)
{
	struct vt_oom_remedy *tried = &trying->splits[number];
	char text[48];

	if (trying->remedies->items[VT_REMEDY_MAX_SPLIT].is_on)
		return;
	snprintf(text, sizeof(text), "max_split_size_mb:%u", split_limits[number]);
	if (is_never_met(trying, split_limits[number]))
		take_over_as(tried, trying, text);
	else
		play_text(tried, trying->cut, text);
}

static void try_expandable(const struct trying *trying)
{
	struct vt_oom_remedy *expandable = &trying->remedies->items[VT_REMEDY_EXPANDABLE];

	if (expandable->is_on)
		return;
	vt_traces_expandable(trying->ready);
	take_over(expandable, trying->cut, &trying->ready->expandable_until_failed);
}

static void try_gc(const struct trying *trying)
{
	struct vt_oom_remedy *gc = &trying->remedies->items[VT_REMEDY_GC];

	if (gc->is_on)
		return;
	if (is_never_collecting(trying))
		take_over_as(gc, trying, GC_SETTINGS);
	else
		play_text(gc, trying->cut, GC_SETTINGS);
}

/* Before it refuses a request the allocator empties the cache itself. */
static void try_empty_cache(const struct trying *trying)
{
	struct vt_oom_remedy *empty = &trying->remedies->items[VT_REMEDY_EMPTY_CACHE];

	if (trying->is_refused)
		take_over(empty, trying->cut, &trying->unchanged);
	else
		play(empty, trying->cut, &trying->cut->settings, trying->cut->steps.len - 1);
}

/* Only those are played that could come to anything else than the recorded settings. */
static void try_one(void *context, size_t number)
{
	struct trying *trying = context;

	if (number == 0)
		try_expandable(trying);
	else if (number == 1)
		try_gc(trying);
	else if (number == 2)
		try_empty_cache(trying);
	else
		try_split_limit(trying, number - NR_OTHERS);
}

/* The best of the limits; where none of them changes anything, the first. */
static void choose_split(struct trying *trying)
{
	struct vt_oom_remedy *best = &trying->remedies->items[VT_REMEDY_MAX_SPLIT];

	if (best->is_on)
		return;
	for (size_t i = 0; i < VT_ARRAY_SIZE(split_limits); i++)
		if (!i || is_better(&trying->splits[i], best))
			*best = trying->splits[i];
}

static int is_on(const struct vt_settings *settings, enum vt_oom_remedy_kind kind)
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

void vt_oom_remedies_find(struct vt_oom_remedies *remedies, struct vt_trace_ready *ready,
			  uint32_t oom)
{
	const struct vt_trace *trace = &ready->trace;
	struct vt_oom_remedy *items = remedies->items;
	struct vt_trace cut;
	struct trying trying = { .ready = ready, .cut = &cut, .remedies = remedies };

	memset(remedies, 0, sizeof(*remedies));
	for (int i = 0; i < VT_NR_REMEDIES; i++) {
		snprintf(items[i].text, sizeof(items[i].text), "%s", texts[i]);
		items[i].is_on = (uint8_t)is_on(&trace->settings, i);
	}
	if (vt_oom_remedies_cut(&cut, trace, oom))
		return;
	vt_traces_recorded(ready);
	remedies->recorded = ready->until_failed;
	find_unchanged(&trying);
	vt_parallel_run(NR_OTHERS + VT_ARRAY_SIZE(split_limits), try_one, &trying);
	choose_split(&trying);
}
