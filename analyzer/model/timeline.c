/* SPDX-License-Identifier: MIT */
#include "analyzer/model/timeline.h"

#include <string.h>

#include "analyzer/base/util.h"

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
	qsort(timeline->moments, timeline->nr, sizeof(*timeline->moments), compare_moments);
}

void vt_timeline_release(struct vt_timeline *timeline)
{
	free(timeline->moments);
	memset(timeline, 0, sizeof(*timeline));
}

uint32_t vt_timeline_after(const struct vt_timeline *timeline, int64_t event)
{
	uint32_t low = 0, high = timeline->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (timeline->moments[middle].event <= event)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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

void vt_timeline_add(const struct vt_timeline *timeline, const struct vt_moment *moment, int device,
		     struct vt_totals *totals)
{
	const struct vt_allocation *a;
	uint64_t sign;

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
