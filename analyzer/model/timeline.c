/* SPDX-License-Identifier: MIT */
#include "analyzer/model/timeline.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/idle_pools.h"

/* No moment: none has it, as a row's number is below VT_MOST_ROWS. */
static const struct vt_moment nothing = { .index = VT_MOST_ROWS, .what = VT_MOMENT_OTHER };

/* A moment while it is put in order. */
struct ordered {
	uint32_t event;
	struct vt_moment moment;
};

typedef VT_VECTOR(struct ordered) ordered_vector;

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->moment.what != y->moment.what)
		return x->moment.what < y->moment.what ? -1 : 1;
	return x->moment.index < y->moment.index ? -1 : x->moment.index > y->moment.index;
}

/*
 * Event numbers are nearly all there are: each moment goes to the place that its number says.
 * What finds its place taken, or has none, as in a damaged database, is put in order and merged.
 */
struct filling {
	const struct vt_model *model;
	struct vt_moment *places; /* by event */
	uint32_t nr_places;
	ordered_vector others;
};

static void add_moment(struct filling *filling, uint32_t index, enum vt_moment_what what)
{
	struct vt_moment moment = { .index = index, .what = what };
	uint32_t event = vt_moment_event(filling->model, &moment);

	if (event < filling->nr_places && filling->places[event].index == nothing.index)
		filling->places[event] = moment;
	else
		vt_vector_push(&filling->others, ((struct ordered){ event, moment }));
}

static void add_all(struct filling *filling)
{
	const struct vt_model *model = filling->model;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		add_moment(filling, i, VT_MOMENT_ALLOC);
		if (model->allocations[i].freed_event != VT_NEVER)
			add_moment(filling, i, VT_MOMENT_FREE);
	}
	for (uint32_t i = 0; i < model->nr_events; i++)
		add_moment(filling, i, VT_MOMENT_OTHER);
	for (uint32_t i = 0; i < model->nr_marks; i++)
		add_moment(filling, i, VT_MOMENT_MARK);
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		add_moment(filling, i, VT_MOMENT_OUT_OF_MEMORY);
}

/* Moves the moments to the front of the places.  Returns how many there are. */
static uint32_t close_gaps(struct filling *filling)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < filling->nr_places; i++)
		if (filling->places[i].index != nothing.index)
			filling->places[nr++] = filling->places[i];
	return nr;
}

/* From the last one down: both lists are in order, and the others fit behind the moments. */
static void merge(struct filling *filling, struct vt_moment *moments, uint32_t nr)
{
	size_t left = filling->others.len;

	while (left) {
		const struct ordered *other = &filling->others.items[left - 1];
		struct ordered last = { 0 };

		if (nr) {
			last.moment = moments[nr - 1];
			last.event = vt_moment_event(filling->model, &last.moment);
		}
		if (nr && compare_ordered(&last, other) > 0) {
			moments[--nr + left] = last.moment;
		} else {
			moments[nr + --left] = other->moment;
		}
	}
}

/* How many events get a place: none where the numbers are far apart. */
static uint32_t nr_places(const struct vt_model *model)
{
	int64_t most = 2 * (int64_t)model->nr_allocations + model->nr_events + model->nr_marks +
		       model->nr_ooms;
	int64_t last = model->last_event;

	return last < 0 || last >= 4 * most + 1024 || last >= VT_NEVER ? 0 : (uint32_t)last + 1;
}

void vt_timeline_init(struct vt_timeline *timeline, const struct vt_model *model)
{
	struct filling filling = { .model = model, .nr_places = nr_places(model) };
	uint32_t nr;

	filling.places = vt_xmalloc(((size_t)filling.nr_places + 1) * sizeof(*filling.places));
	for (uint32_t i = 0; i < filling.nr_places; i++)
		filling.places[i] = nothing;
	add_all(&filling);
	nr = close_gaps(&filling);
	timeline->model = model;
	timeline->nr = nr + (uint32_t)filling.others.len;
	timeline->moments = vt_xrealloc(filling.places,
					((size_t)timeline->nr + 1) * sizeof(*timeline->moments));
	vt_vector_sort(&filling.others, compare_ordered);
	merge(&filling, timeline->moments, nr);
	vt_vector_release(&filling.others);
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
