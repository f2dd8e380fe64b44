/* SPDX-License-Identifier: MIT */
#include "analyzer/model/timeline.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/idle_pools.h"

/* A moment while it is put in order. */
struct ordered {
	uint32_t event;
	struct vt_moment moment;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->moment.what != y->moment.what)
		return x->moment.what < y->moment.what ? -1 : 1;
	return x->moment.index < y->moment.index ? -1 : x->moment.index > y->moment.index;
}

static void sort_moments(const struct vt_model *model, struct vt_moment *moments, uint32_t nr)
{
	struct ordered *all = vt_xcalloc((size_t)nr + 1, sizeof(*all));

	for (uint32_t i = 0; i < nr; i++)
		all[i] = (struct ordered){ vt_moment_event(model, &moments[i]), moments[i] };
	vt_sort(all, nr, compare_ordered);
	for (uint32_t i = 0; i < nr; i++)
		moments[i] = all[i].moment;
	free(all);
}

/*
 * Moments are added twice, to be counted and to be stored: a list of them that is sorted into
 * another one would take as much memory again as it has.
 */
struct filling {
	struct vt_timeline *timeline;
	uint32_t *places; /* by event: how many there are, then where the next one goes */
	int64_t last_event;
	int is_counting;
	int is_out_of_range; /* an event that has no place */
};

static void add_moment(struct filling *filling, int64_t event, uint32_t index,
		       enum vt_moment_what what)
{
	struct vt_timeline *timeline = filling->timeline;
	uint32_t at;

	if (filling->is_counting && (event < 0 || event > filling->last_event)) {
		filling->is_out_of_range = 1;
	} else if (filling->is_counting) {
		filling->places[event + 1]++;
	} else {
		at = filling->places ? filling->places[event]++ : timeline->nr++;
		timeline->moments[at] = (struct vt_moment){ .index = index, .what = what };
	}
}

static void tell_all(struct filling *filling)
{
	const struct vt_model *model = filling->timeline->model;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		add_moment(filling, model->allocations[i].event, i, VT_MOMENT_ALLOC);
		if (model->allocations[i].freed_event != VT_NEVER)
			add_moment(filling, model->allocations[i].freed_event, i, VT_MOMENT_FREE);
	}
	for (uint32_t i = 0; i < model->nr_events; i++)
		add_moment(filling, model->events[i].event, i, VT_MOMENT_OTHER);
	for (uint32_t i = 0; i < model->nr_marks; i++)
		add_moment(filling, model->marks[i].event, i, VT_MOMENT_MARK);
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		add_moment(filling, model->ooms[i].event, i, VT_MOMENT_OUT_OF_MEMORY);
}

/* What happens at one event number, put in order where that is more than one thing. */
static void sort_runs(struct vt_timeline *timeline)
{
	struct vt_moment *moments = timeline->moments;
	uint32_t start = 0;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		if (!vt_timeline_is_last_of_event(timeline, &moments[i]))
			continue;
		if (i > start)
			sort_moments(timeline->model, &moments[start], i + 1 - start);
		start = i + 1;
	}
}

/*
 * Event numbers are nearly all there are: each moment goes to the place that its number says.
 * Returns 0 where they are not: a damaged database may have any.
 */
static int place_by_event(struct vt_timeline *timeline, size_t most)
{
	struct filling filling = { .timeline = timeline,
				   .is_counting = 1,
				   .last_event = timeline->model->last_event };

	if (filling.last_event < 0 || filling.last_event >= 4 * (int64_t)most + 1024)
		return 0;
	filling.places = vt_xcalloc((size_t)filling.last_event + 2, sizeof(*filling.places));
	tell_all(&filling);
	if (!filling.is_out_of_range) {
		for (int64_t event = 0; event <= filling.last_event; event++)
			filling.places[event + 1] += filling.places[event];
		timeline->nr = filling.places[filling.last_event + 1];
		filling.is_counting = 0;
		tell_all(&filling);
		sort_runs(timeline);
	}
	free(filling.places);
	return !filling.is_out_of_range;
}

void vt_timeline_init(struct vt_timeline *timeline, const struct vt_model *model)
{
	size_t most = 2 * (size_t)model->nr_allocations + model->nr_events + model->nr_marks +
		      model->nr_ooms;
	struct filling filling = { .timeline = timeline };

	timeline->model = model;
	timeline->nr = 0;
	timeline->moments = vt_xcalloc(most + 1, sizeof(*timeline->moments));
	if (place_by_event(timeline, most))
		return;
	tell_all(&filling);
	sort_moments(model, timeline->moments, timeline->nr);
}

void vt_timeline_release(struct vt_timeline *timeline)
{
	free(timeline->moments);
	memset(timeline, 0, sizeof(*timeline));
}

uint32_t vt_timeline_after(const struct vt_timeline *timeline, int64_t event)
{
	return vt_search_first(i, timeline->nr,
			       vt_moment_event(timeline->model, &timeline->moments[i]) <= event);
}

int64_t vt_timeline_moment_time(const struct vt_timeline *timeline, const struct vt_moment *moment)
{
	const struct vt_model *model = timeline->model;

	switch (moment->what) {
	case VT_MOMENT_FREE:
		return vt_allocation_times_freed(&model->times, moment->index);
	case VT_MOMENT_ALLOC:
		return vt_allocation_times_made(&model->times, moment->index);
	case VT_MOMENT_MARK:
		return model->marks[moment->index].time_ns;
	case VT_MOMENT_OUT_OF_MEMORY:
		return model->ooms[moment->index].time_ns;
	default:
		return model->events[moment->index].time_ns;
	}
}

int64_t vt_timeline_time(const struct vt_timeline *timeline, int64_t event)
{
	uint32_t after = vt_timeline_after(timeline, event);

	return after ? vt_timeline_moment_time(timeline, &timeline->moments[after - 1]) : 0;
}

int vt_timeline_is_last_of_event(const struct vt_timeline *timeline, const struct vt_moment *moment)
{
	return moment + 1 == timeline->moments + timeline->nr ||
	       vt_moment_event(timeline->model, moment + 1) !=
		       vt_moment_event(timeline->model, moment);
}

int vt_timeline_is_instant(const struct vt_timeline *timeline, const struct vt_moment *moment)
{
	return vt_timeline_is_last_of_event(timeline, moment) &&
	       vt_folded_is_known(&timeline->model->folded,
				  vt_moment_event(timeline->model, moment));
}

void vt_timeline_add(const struct vt_timeline *timeline, const struct vt_moment *moment, int device,
		     struct vt_totals *totals)
{
	const struct vt_allocation *a;
	uint64_t sign;

	if (timeline->model->nr_pool_changes && vt_timeline_is_last_of_event(timeline, moment))
		totals->used_bytes += (uint64_t)vt_idle_pools_change(
			timeline->model, device, vt_moment_event(timeline->model, moment));
	if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
		return;
	a = &timeline->model->allocations[moment->index];
	if (a->common->device != device)
		return;
	sign = moment->what == VT_MOMENT_ALLOC ? 1 : (uint64_t)-1;
	if (vt_allocation_is_driver(a))
		totals->used_bytes += sign * a->common->size_bytes;
	if (vt_allocation_is_owned(a))
		totals->allocated_bytes += sign * a->common->size_bytes;
}
