/* SPDX-License-Identifier: MIT */
#include "analyzer/model/timeline.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"
#include "analyzer/model/idle_pools.h"

static int compare_moments(const void *a, const void *b)
{
	const struct vt_moment *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void push(struct vt_timeline *timeline, int64_t event, uint32_t index,
		 enum vt_moment_what what)
{
	struct vt_moment *moment = &timeline->moments[timeline->nr++];

	moment->event = event;
	moment->index = index;
	moment->what = (uint8_t)what;
}

/* What happens at one event number, put in order where that is more than one thing. */
static void sort_runs(struct vt_timeline *timeline)
{
	uint32_t start = 0;

	for (uint32_t i = 1; i <= timeline->nr; i++) {
		const struct vt_moment *moments = timeline->moments;

		if (i < timeline->nr && moments[i].event == moments[start].event)
			continue;
		if (i - start > 1)
			qsort(&timeline->moments[start], i - start, sizeof(*timeline->moments),
			      compare_moments);
		start = i;
	}
}

/* Event numbers are nearly all there are: each moment goes to the place that its number says. */
static void place_by_event(struct vt_timeline *timeline, uint64_t last_event)
{
	uint32_t *places = vt_xcalloc((size_t)last_event + 2, sizeof(*places));
	struct vt_moment *sorted = vt_xcalloc((size_t)timeline->nr + 1, sizeof(*sorted));

	for (uint32_t i = 0; i < timeline->nr; i++)
		places[timeline->moments[i].event + 1]++;
	for (uint64_t event = 0; event < last_event; event++)
		places[event + 1] += places[event];
	for (uint32_t i = 0; i < timeline->nr; i++)
		sorted[places[timeline->moments[i].event]++] = timeline->moments[i];
	free(timeline->moments);
	free(places);
	timeline->moments = sorted;
	sort_runs(timeline);
}

/* A damaged database may have any numbers. */
static int are_dense(const struct vt_timeline *timeline, int64_t last_event)
{
	for (uint32_t i = 0; i < timeline->nr; i++)
		if (timeline->moments[i].event < 0 || timeline->moments[i].event > last_event)
			return 0;
	return last_event < 4 * (int64_t)timeline->nr + 1024;
}

void vt_timeline_init(struct vt_timeline *timeline, const struct vt_model *model)
{
	size_t max = 2 * (size_t)model->nr_allocations + model->nr_events + model->nr_marks +
		     model->nr_ooms;

	timeline->model = model;
	timeline->nr = 0;
	timeline->moments = vt_xcalloc(max + 1, sizeof(*timeline->moments));
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		push(timeline, model->allocations[i].event, i, VT_MOMENT_ALLOC);
		if (model->allocations[i].freed_event != VT_NEVER)
			push(timeline, model->allocations[i].freed_event, i, VT_MOMENT_FREE);
	}
	for (uint32_t i = 0; i < model->nr_events; i++)
		push(timeline, model->events[i].event, i, VT_MOMENT_OTHER);
	for (uint32_t i = 0; i < model->nr_marks; i++)
		push(timeline, model->marks[i].event, i, VT_MOMENT_MARK);
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		push(timeline, model->ooms[i].event, i, VT_MOMENT_OUT_OF_MEMORY);
	if (are_dense(timeline, model->last_event))
		place_by_event(timeline, (uint64_t)model->last_event);
	else
		qsort(timeline->moments, timeline->nr, sizeof(*timeline->moments), compare_moments);
}

void vt_timeline_release(struct vt_timeline *timeline)
{
	free(timeline->moments);
	memset(timeline, 0, sizeof(*timeline));
}

uint32_t vt_timeline_after(const struct vt_timeline *timeline, int64_t event)
{
	return vt_search_first(i, timeline->nr, timeline->moments[i].event <= event);
}

int64_t vt_timeline_moment_time(const struct vt_timeline *timeline, const struct vt_moment *moment)
{
	const struct vt_model *model = timeline->model;

	switch (moment->what) {
	case VT_MOMENT_FREE:
		return model->allocations[moment->index].freed_time_ns;
	case VT_MOMENT_ALLOC:
		return model->allocations[moment->index].time_ns;
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

static int is_last_of_event(const struct vt_timeline *timeline, const struct vt_moment *moment)
{
	return moment + 1 == timeline->moments + timeline->nr || moment[1].event != moment->event;
}

void vt_timeline_add(const struct vt_timeline *timeline, const struct vt_moment *moment, int device,
		     struct vt_totals *totals)
{
	const struct vt_allocation *a;
	uint64_t sign;

	if (timeline->model->nr_pool_changes && is_last_of_event(timeline, moment))
		totals->used_bytes += (uint64_t)vt_idle_pools_change(timeline->model, device,
								     moment->event);
	if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
		return;
	a = &timeline->model->allocations[moment->index];
	if (a->device != device)
		return;
	sign = moment->what == VT_MOMENT_ALLOC ? 1 : (uint64_t)-1;
	if (vt_allocation_is_driver(a))
		totals->used_bytes += sign * a->size_bytes;
	if (vt_allocation_is_owned(a))
		totals->allocated_bytes += sign * a->size_bytes;
}
