/* SPDX-License-Identifier: MIT */
#include "analyzer/html/series.h"

#include <string.h>

#include "analyzer/model/idle_pools.h"
#include "analyzer/model/samples.h"

#define MOST_BUCKETS  8192
#define LEAST_BUCKETS 256
#define ALL_BUCKETS   16384 /* of all devices */
#define MOST_COLUMNS  28

/* What one device holds while the recording is played. */
struct playing {
	struct vt_series_device *device;
	uint64_t *now;  /* by column */
	uint64_t owned; /* their sum */
	uint64_t used;
	uint64_t reserved;
	uint64_t highest; /* in this bucket */
	uint64_t highest_used;
	uint64_t highest_reserved;
	uint32_t dirty[8]; /* columns that changed in this event */
	uint32_t nr_dirty;
	int has_changed;
	int is_pending; /* `now` is the bucket's top, not yet copied */
};

static uint32_t device_index(const struct vt_series *series, int device)
{
	for (uint32_t d = 0; d < series->nr_devices; d++)
		if (series->devices[d].device->id == device)
			return d;
	return UINT32_MAX;
}

/* The most that each owner had, on each device, by number of the owner. */
struct most {
	uint64_t *now;
	uint64_t *most;
	uint32_t capacity;
};

static void grow(struct most *most, uint32_t owner)
{
	uint32_t capacity = (owner + 1) * 2;

	if (owner < most->capacity)
		return;
	most->now = vt_xrealloc(most->now, capacity * sizeof(*most->now));
	most->most = vt_xrealloc(most->most, capacity * sizeof(*most->most));
	for (uint32_t i = most->capacity; i < capacity; i++)
		most->now[i] = most->most[i] = 0;
	most->capacity = capacity;
}

static struct most *find_most(struct vt_series *series)
{
	const struct vt_timeline *timeline = &series->analysis->timeline;
	struct vt_attribution *attribution = &series->analysis->attribution;
	struct most *most = vt_xcalloc(series->nr_devices + 1, sizeof(*most));

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		const struct vt_allocation *a;
		uint32_t owner, d;

		if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
			continue;
		a = &timeline->model->allocations[moment->index];
		d = device_index(series, a->common->device);
		if (d == UINT32_MAX || !vt_allocation_is_owned(a))
			continue;
		owner = vt_attribution_judge(attribution, moment->index).owner;
		grow(&most[d], owner);
		most[d].now[owner] += moment->what == VT_MOMENT_ALLOC ? a->common->size_bytes
								      : 0 - a->common->size_bytes;
		if (most[d].now[owner] > most[d].most[owner])
			most[d].most[owner] = most[d].now[owner];
	}
	return most;
}

static int compare_most(const void *a, const void *b, void *context)
{
	const uint64_t *most = context;
	uint64_t x = most[*(const uint32_t *)a], y = most[*(const uint32_t *)b];

	return x != y ? (x > y ? -1 : 1) : *(const uint32_t *)a > *(const uint32_t *)b ? 1 : -1;
}

static uint64_t *numbers(const struct vt_series *series)
{
	return vt_xcalloc(series->nr_buckets, sizeof(uint64_t));
}

static void make_columns(struct vt_series *series, struct vt_series_device *device,
			 const struct most *most)
{
	uint32_t *owners = vt_xcalloc(most->capacity + 1, sizeof(*owners)), nr = 0, named;

	for (uint32_t i = 0; i < most->capacity; i++)
		if (most->most[i])
			owners[nr++] = i;
	qsort_r(owners, nr, sizeof(*owners), compare_most, most->most);
	named = nr <= MOST_COLUMNS ? nr : MOST_COLUMNS - 1;
	device->nr_others = nr - named;
	device->nr_columns = (uint16_t)(named + (nr > named));
	device->columns = vt_xcalloc(device->nr_columns + 1u, sizeof(*device->columns));
	device->column_of = vt_xcalloc(most->capacity + 1, sizeof(*device->column_of));
	for (uint32_t i = 0; i < nr; i++)
		device->column_of[owners[i]] = (uint16_t)(i < named ? i : named);
	for (uint16_t i = 0; i < device->nr_columns; i++) {
		struct vt_series_column *column = &device->columns[i];

		if (i < named)
			column->owner = vt_attribution_owner(&series->analysis->attribution,
							     owners[i]);
		column->top = numbers(series);
		column->most = numbers(series);
		column->least = numbers(series);
	}
	device->used = numbers(series);
	device->reserved = numbers(series);
	free(owners);
}

static void copy_top(struct playing *playing, uint32_t bucket)
{
	for (uint16_t i = 0; i < playing->device->nr_columns; i++)
		playing->device->columns[i].top[bucket] = playing->now[i];
	playing->is_pending = 0;
}

static void begin_bucket(struct playing *playing, uint32_t bucket)
{
	struct vt_series_device *device = playing->device;

	for (uint16_t i = 0; i < device->nr_columns; i++)
		device->columns[i].most[bucket] = device->columns[i].least[bucket] =
			playing->now[i];
	playing->highest = playing->owned;
	playing->highest_used = playing->used;
	playing->highest_reserved = playing->reserved;
	playing->is_pending = 1;
}

static void end_bucket(const struct vt_series *series, struct playing *playing, uint32_t bucket)
{
	struct vt_series_device *device = playing->device;

	/* One event is shown as it left things, as in a window and at event:N, not as it began. */
	if (series->events_per_bucket == 1) {
		playing->is_pending = 1;
		playing->highest_used = playing->used;
		playing->highest_reserved = playing->reserved;
	}
	if (playing->is_pending)
		copy_top(playing, bucket);
	device->used[bucket] =
		vt_samples_device_used(&series->analysis->model, device->device->id,
				       playing->highest_used, series->end_ns[bucket]);
	device->reserved[bucket] = playing->highest_reserved;
}

/* Keeps `row` where every event is kept; called before its change is made. */
static void keep(struct playing *playing, const struct vt_series *series,
		 const struct vt_series_row *row)
{
	struct vt_series_device *device = playing->device;
	struct vt_series_window *window = vt_series_windows_at(&device->windows, row->event);

	if (!window)
		return;
	if (!window->before) {
		window->before = vt_xcalloc(device->nr_columns + 2u, sizeof(*window->before));
		memcpy(window->before, playing->now, device->nr_columns * sizeof(*playing->now));
		window->before[device->nr_columns] = vt_samples_device_used(
			&series->analysis->model, device->device->id, playing->used, row->time_ns);
		window->before[device->nr_columns + 1] = playing->reserved;
	}
	vt_series_windows_add(&device->windows, window, row);
}

static void change(struct playing *playing, const struct vt_series *series,
		   const struct vt_moment *moment, int64_t time_ns)
{
	const struct vt_allocation *a = &series->analysis->model.allocations[moment->index];
	uint64_t bytes =
		moment->what == VT_MOMENT_ALLOC ? a->common->size_bytes : 0 - a->common->size_bytes;
	struct vt_series_row row = { .event = vt_moment_event(&series->analysis->model, moment),
				     .time_ns = time_ns,
				     .change_bytes = (int64_t)bytes,
				     .column = VT_SERIES_NO_COLUMN,
				     .is_used = (uint8_t)vt_allocation_is_driver(a),
				     .is_reserved = a->holds_blocks };

	if (vt_allocation_is_owned(a))
		row.column = playing->device->column_of[vt_attribution_judge(
			&series->analysis->attribution, moment->index).owner];
	if (row.column == VT_SERIES_NO_COLUMN && !row.is_used)
		return;
	if (playing->is_pending && moment->what == VT_MOMENT_FREE)
		copy_top(playing, (uint32_t)(vt_moment_event(&series->analysis->model, moment) /
					     series->events_per_bucket));
	keep(playing, series, &row);
	playing->used += row.is_used ? bytes : 0;
	playing->reserved += row.is_used && row.is_reserved ? bytes : 0;
	playing->has_changed = 1;
	if (row.column == VT_SERIES_NO_COLUMN)
		return;
	playing->now[row.column] += bytes;
	playing->owned += bytes;
	if (playing->nr_dirty < VT_ARRAY_SIZE(playing->dirty))
		playing->dirty[playing->nr_dirty++] = row.column;
}

/* After the last moment of an event. */
static void settle(struct playing *playing, uint32_t bucket, int64_t event, uint32_t step)
{
	struct vt_series_device *device = playing->device;

	for (uint32_t i = 0; i < playing->nr_dirty; i++) {
		struct vt_series_column *column = &device->columns[playing->dirty[i]];
		uint64_t now = playing->now[playing->dirty[i]];

		if (now > column->most[bucket])
			column->most[bucket] = now;
		if (now < column->least[bucket])
			column->least[bucket] = now;
	}
	if (playing->owned > playing->highest) {
		playing->highest = playing->owned;
		playing->is_pending = 1;
	}
	if (playing->used > playing->highest_used)
		playing->highest_used = playing->used;
	if (playing->reserved > playing->highest_reserved)
		playing->highest_reserved = playing->reserved;
	if (step && playing->owned > device->steps[step - 1].bytes) {
		device->steps[step - 1].bytes = playing->owned;
		device->steps[step - 1].event = event;
	}
	playing->nr_dirty = 0;
	playing->has_changed = 0;
}

static void turn_bucket(struct vt_series *series, struct playing *all, uint32_t bucket,
			int64_t time_ns)
{
	series->end_ns[bucket] = time_ns;
	for (uint32_t d = 0; d < series->nr_devices; d++) {
		end_bucket(series, &all[d], bucket);
		if (bucket + 1 < series->nr_buckets)
			begin_bucket(&all[d], bucket + 1);
	}
}

/* Idle pools change at events that are no allocations. */
static void add_pools(const struct vt_series *series, struct playing *playing, int64_t event,
		      int64_t time_ns)
{
	struct vt_series_row row = { .event = event,
				     .time_ns = time_ns,
				     .column = VT_SERIES_NO_COLUMN,
				     .is_used = 1 };
	int64_t more;

	if (!series->analysis->model.nr_pool_changes)
		return;
	more = vt_idle_pools_change(&series->analysis->model, playing->device->device->id, event);
	if (more) {
		row.change_bytes = more;
		keep(playing, series, &row);
		playing->used += (uint64_t)more;
		playing->has_changed = 1;
	}
}

static void play(struct vt_series *series, struct playing *all)
{
	const struct vt_timeline *timeline = &series->analysis->timeline;
	const struct vt_stages *stages = &series->analysis->stages;
	uint32_t bucket = 0, span = 0;
	int64_t time_ns = 0;

	for (uint32_t d = 0; d < series->nr_devices; d++)
		begin_bucket(&all[d], 0);
	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		int64_t now_ns = vt_timeline_moment_time(timeline, moment);
		uint32_t event = vt_moment_event(timeline->model, moment);

		while (event / series->events_per_bucket > bucket)
			turn_bucket(series, all, bucket++, time_ns);
		time_ns = now_ns > time_ns ? now_ns : time_ns;
		if (moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_FREE) {
			uint32_t d = device_index(
				series, timeline->model->allocations[moment->index].common->device);

			if (d != UINT32_MAX)
				change(&all[d], series, moment, time_ns);
		}
		if (!vt_timeline_is_instant(timeline, moment))
			continue;
		while (span + 1 < stages->nr_spans && stages->spans[span].last_event < event)
			span++;
		for (uint32_t d = 0; d < series->nr_devices; d++) {
			add_pools(series, &all[d], event, time_ns);
			if (all[d].has_changed)
				settle(&all[d], bucket, event,
				       stages->nr_spans ? stages->spans[span].step : 0);
		}
	}
	while (bucket < series->nr_buckets)
		turn_bucket(series, all, bucket++, time_ns);
}

static void set_buckets(struct vt_series *series)
{
	int64_t last = series->analysis->model.last_event;
	int64_t nr = ALL_BUCKETS / (series->nr_devices ? series->nr_devices : 1);

	nr = nr > MOST_BUCKETS ? MOST_BUCKETS : nr < LEAST_BUCKETS ? LEAST_BUCKETS : nr;
	series->events_per_bucket = last / nr + 1;
	series->nr_buckets = (uint32_t)(last / series->events_per_bucket) + 1;
	series->end_ns = vt_xcalloc(series->nr_buckets, sizeof(*series->end_ns));
}

void vt_series_init(struct vt_series *series, struct vt_analysis *analysis)
{
	const struct vt_model *model = &analysis->model;
	struct playing *all = vt_xcalloc(model->nr_devices + 1, sizeof(*all));
	struct most *most;

	memset(series, 0, sizeof(*series));
	series->analysis = analysis;
	series->devices = vt_xcalloc(model->nr_devices + 1, sizeof(*series->devices));
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_model_peak(model, model->devices[i].id))
			series->devices[series->nr_devices++].device = &model->devices[i];
	set_buckets(series);
	most = find_most(series);
	for (uint32_t d = 0; d < series->nr_devices; d++) {
		struct vt_series_device *device = &series->devices[d];

		make_columns(series, device, &most[d]);
		device->steps = vt_xcalloc(analysis->stages.steps.nr + 1, sizeof(*device->steps));
		if (series->events_per_bucket > 1)
			vt_series_windows_choose(&device->windows, analysis, device->device->id,
						 series->nr_devices);
		all[d].device = device;
		all[d].now = vt_xcalloc(device->nr_columns + 1u, sizeof(uint64_t));
		free(most[d].now);
		free(most[d].most);
	}
	free(most);
	play(series, all);
	for (uint32_t d = 0; d < series->nr_devices; d++)
		free(all[d].now);
	free(all);
}

void vt_series_release(struct vt_series *series)
{
	for (uint32_t d = 0; d < series->nr_devices; d++) {
		struct vt_series_device *device = &series->devices[d];

		for (uint16_t i = 0; i < device->nr_columns; i++) {
			free(device->columns[i].top);
			free(device->columns[i].most);
			free(device->columns[i].least);
		}
		vt_series_windows_release(&device->windows);
		free(device->columns);
		free(device->column_of);
		free(device->used);
		free(device->reserved);
		free(device->steps);
	}
	free(series->devices);
	free(series->end_ns);
	memset(series, 0, sizeof(*series));
}
