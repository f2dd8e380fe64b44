/* SPDX-License-Identifier: MIT */
#include "analyzer/export/counters.h"

#include "analyzer/base/util.h"
#include "analyzer/model/idle_pools.h"
#include "analyzer/model/samples.h"

/* The counters of a device; those of owners follow. */
enum { USED, RESERVED, ALLOCATED, NR_OF_DEVICE };

struct point {
	int64_t time_ns;
	uint64_t bytes;
};

/* What a bucket keeps of a counter. */
struct kept {
	struct point lowest, highest, last;
	int has_any;
};

struct playing {
	const struct vt_counters *counters;
	vt_counters_fn put;
	void *context;
	uint64_t *now;     /* by counter */
	uint8_t *is_dirty;
	VT_VECTOR(uint32_t) dirty;
	struct kept *kept; /* by counter */
	uint32_t bucket;
	struct vt_outside *outside; /* by device */
	int64_t outside_ns; /* when `outside` was looked up */
	int64_t time_ns;
};

/* The number of a device's first counter. */
static uint32_t first_of(const struct vt_counters *counters, uint32_t device)
{
	return counters->nr / counters->job->analysis->model.nr_devices * device;
}

void vt_counters_init(struct vt_counters *counters, struct vt_writer_job *job, uint32_t most_events,
		      uint32_t nr_buckets)
{
	static const char *const names[] = { "device used", "reserved", "allocated" };
	const struct vt_model *model = &job->analysis->model;
	struct vt_attribution *attribution = &job->analysis->attribution;
	uint32_t nr = 0;

	*counters = (struct vt_counters){ .job = job };
	/* Owners get their numbers when they are first met. */
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (vt_allocation_is_owned(&model->allocations[i]))
			vt_attribution_judge(attribution, i);
	counters->items = vt_xcalloc(
		(size_t)model->nr_devices * (NR_OF_DEVICE + attribution->verdicts.path_of.len) + 1,
		sizeof(*counters->items));
	for (uint32_t d = 0; d < model->nr_devices; d++)
		for (uint32_t i = 0; i < NR_OF_DEVICE + attribution->verdicts.path_of.len; i++) {
			struct vt_counter *counter = &counters->items[nr++];

			counter->device = model->devices[d].id;
			if (i >= NR_OF_DEVICE)
				counter->owner =
					vt_attribution_owner(attribution, i - NR_OF_DEVICE);
			counter->name = counter->owner ? counter->owner : names[i];
		}
	counters->nr = nr;
	if (job->is_whole || job->analysis->timeline.nr <= most_events)
		return;
	counters->nr_buckets = nr_buckets;
	job->left_out = vt_xasprintf("%u events in %u equal parts: each counter has the lowest,"
				     " highest and last value of each part",
				     job->analysis->timeline.nr, nr_buckets);
}

void vt_counters_release(struct vt_counters *counters)
{
	free(counters->items);
}

static void put_kept(struct playing *playing, uint32_t counter)
{
	struct kept *kept = &playing->kept[counter];
	int is_low_first = kept->lowest.time_ns <= kept->highest.time_ns;
	const struct point points[] = { is_low_first ? kept->lowest : kept->highest,
					is_low_first ? kept->highest : kept->lowest, kept->last };

	for (unsigned i = 0; i < VT_ARRAY_SIZE(points); i++)
		if (!i || points[i].time_ns != points[i - 1].time_ns ||
		    points[i].bytes != points[i - 1].bytes)
			playing->put(playing->context, counter, points[i].time_ns, points[i].bytes);
	kept->has_any = 0;
}

static void end_bucket(struct playing *playing)
{
	for (uint32_t i = 0; i < playing->counters->nr; i++)
		if (playing->kept[i].has_any)
			put_kept(playing, i);
}

static void take_point(struct playing *playing, uint32_t counter)
{
	struct kept *kept = &playing->kept[counter];
	struct point point = { playing->time_ns, playing->now[counter] };

	if (!playing->counters->nr_buckets) {
		playing->put(playing->context, counter, point.time_ns, point.bytes);
		return;
	}
	if (!kept->has_any || point.bytes < kept->lowest.bytes)
		kept->lowest = point;
	if (!kept->has_any || point.bytes > kept->highest.bytes)
		kept->highest = point;
	kept->last = point;
	kept->has_any = 1;
}

static void add(struct playing *playing, uint32_t counter, uint64_t bytes)
{
	playing->now[counter] += bytes;
	if (playing->is_dirty[counter])
		return;
	playing->is_dirty[counter] = 1;
	vt_vector_push(&playing->dirty, counter);
}

static void change(struct playing *playing, const struct vt_moment *moment)
{
	struct vt_analysis *analysis = playing->counters->job->analysis;
	const struct vt_allocation *a = &analysis->model.allocations[moment->index];
	uint64_t bytes =
		moment->what == VT_MOMENT_ALLOC ? a->common->size_bytes : 0 - a->common->size_bytes;
	uint32_t d = 0, first;

	while (d < analysis->model.nr_devices && analysis->model.devices[d].id != a->common->device)
		d++;
	if (d == analysis->model.nr_devices)
		return;
	first = first_of(playing->counters, d);
	if (vt_allocation_is_driver(a)) {
		add(playing, first + USED, bytes);
		if (a->holds_blocks)
			add(playing, first + RESERVED, bytes);
	}
	if (!vt_allocation_is_owned(a))
		return;
	add(playing, first + ALLOCATED, bytes);
	add(playing, first + NR_OF_DEVICE +
			     vt_attribution_judge(&analysis->attribution, moment->index).owner,
	    bytes);
}

/* What is used outside of what is recorded changes with the samples, and pools with any event. */
static void add_unrecorded(struct playing *playing, int64_t event)
{
	const struct vt_model *model = &playing->counters->job->analysis->model;
	int is_new = !event ||
		     vt_samples_is_other(model, playing->outside_ns, playing->time_ns);

	playing->outside_ns = playing->time_ns;
	for (uint32_t d = 0; d < model->nr_devices; d++) {
		int device = model->devices[d].id;
		struct vt_outside *last = &playing->outside[d], outside = *last;
		uint64_t more = 0;

		if (is_new)
			outside = vt_samples_at(model, device, playing->time_ns);
		more = vt_samples_sum(&outside) - vt_samples_sum(last);
		if (model->nr_pool_changes && event)
			more += (uint64_t)vt_idle_pools_change(model, device, event);
		*last = outside;
		if (more)
			add(playing, first_of(playing->counters, d) + USED, more);
	}
}

static void settle(struct playing *playing)
{
	for (size_t i = 0; i < playing->dirty.len; i++) {
		take_point(playing, playing->dirty.items[i]);
		playing->is_dirty[playing->dirty.items[i]] = 0;
	}
	playing->dirty.len = 0;
}

static void play(struct playing *playing)
{
	struct vt_writer_job *job = playing->counters->job;
	const struct vt_timeline *timeline = &job->analysis->timeline;
	uint32_t nr_buckets = playing->counters->nr_buckets;
	uint32_t per_bucket = nr_buckets ? timeline->nr / nr_buckets + 1 : 0;

	add_unrecorded(playing, 0);
	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		int64_t time_ns = vt_timeline_moment_time(timeline, moment);

		if (!vt_writer_continues(job, i, timeline->nr))
			return;
		if (nr_buckets && i && i % per_bucket == 0)
			end_bucket(playing);
		/* Threads may be a little behind each other. */
		playing->time_ns = time_ns > playing->time_ns ? time_ns : playing->time_ns;
		if (moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_FREE)
			change(playing, moment);
		if (!vt_timeline_is_instant(timeline, moment))
			continue;
		add_unrecorded(playing, vt_moment_event(timeline->model, moment));
		settle(playing);
	}
	end_bucket(playing);
}

void vt_counters_play(const struct vt_counters *counters, vt_counters_fn put, void *context)
{
	const struct vt_model *model = &counters->job->analysis->model;
	struct playing playing = { .counters = counters, .put = put, .context = context };

	playing.now = vt_xcalloc((size_t)counters->nr + 1, sizeof(*playing.now));
	playing.is_dirty = vt_xcalloc((size_t)counters->nr + 1, 1);
	playing.kept = vt_xcalloc((size_t)counters->nr + 1, sizeof(*playing.kept));
	playing.outside = vt_xcalloc((size_t)model->nr_devices + 1, sizeof(*playing.outside));
	play(&playing);
	free(playing.now);
	free(playing.is_dirty);
	free(playing.kept);
	free(playing.outside);
	vt_vector_release(&playing.dirty);
}
