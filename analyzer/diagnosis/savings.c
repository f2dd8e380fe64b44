/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/savings.h"

#include <string.h>

#include "analyzer/base/sort.h"

/* That a saving begins, or ends, at an event as in the model's rows: there may be millions. */
struct change {
	uint32_t event;
	uint32_t saving : 31;
	uint32_t is_end : 1;
};

void vt_savings_add_between(struct vt_savings *savings, const struct vt_allocation *a,
			    uint64_t bytes, int64_t from_event, int64_t to_event)
{
	struct vt_saving saving = { .bytes = (int64_t)bytes, .allocation = a };

	if (from_event < a->event)
		from_event = a->event;
	if (a->freed_event < to_event)
		to_event = a->freed_event;
	saving.from_event = vt_allocation_event(from_event);
	saving.to_event = to_event == VT_NEVER ? (uint32_t)VT_NEVER
					       : vt_allocation_event(to_event);
	if (to_event > from_event && bytes)
		vt_vector_push(savings, saving);
}

void vt_savings_add_cost(struct vt_savings *savings, const struct vt_allocation *a, uint64_t bytes,
			 int64_t from_event, int64_t to_event)
{
	size_t before = savings->len;

	vt_savings_add_between(savings, a, bytes, from_event, to_event);
	if (savings->len > before)
		savings->items[before].bytes = -savings->items[before].bytes;
}

void vt_savings_add(struct vt_savings *savings, const struct vt_allocation *a, uint64_t bytes)
{
	vt_savings_add_between(savings, a, bytes, a->event, VT_NEVER);
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static struct change *sorted_changes(const struct vt_savings *savings, size_t nr_savings)
{
	struct change *changes = vt_xcalloc(2 * nr_savings + 1, sizeof(*changes));

	for (size_t i = 0; i < nr_savings; i++) {
		const struct vt_saving *saving = &savings->items[i];

		changes[2 * i] =
			(struct change){ saving->from_event, (uint32_t)i & INT32_MAX, 0 };
		changes[2 * i + 1] =
			(struct change){ saving->to_event, (uint32_t)i & INT32_MAX, 1 };
	}
	vt_sort(changes, 2 * nr_savings, compare_changes);
	return changes;
}

/* Moments of a stretch: a training step has some. */
#define STRETCH 256

void vt_allocated_init(struct vt_allocated *allocated, const struct vt_timeline *timeline,
		       int device)
{
	struct vt_totals totals = { 0 };

	*allocated = (struct vt_allocated){ .timeline = timeline, .device = device };
	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		struct vt_allocated_stretch *stretch;

		if (i % STRETCH == 0)
			vt_vector_push(&allocated->stretches, ((struct vt_allocated_stretch){
								      totals.allocated_bytes, 0 }));
		stretch = &allocated->stretches.items[i / STRETCH];
		vt_timeline_add(timeline, moment, device, &totals);
		if (vt_timeline_is_last_of_event(timeline, moment) &&
		    (int64_t)totals.allocated_bytes > stretch->most_bytes)
			stretch->most_bytes = (int64_t)totals.allocated_bytes;
	}
}

void vt_allocated_release(struct vt_allocated *allocated)
{
	vt_vector_release(&allocated->stretches);
}

/* On the way along a timeline. */
struct adding {
	const struct vt_allocated *allocated;
	const struct vt_savings *savings;
	const struct change *changes;
	size_t nr;
	size_t next;
	int64_t relieved;
	int64_t peak;
};

/* The changes up to an event; returns the least that was relieved on the way. */
static int64_t relieve_to(struct adding *adding, int64_t event)
{
	int64_t least = adding->relieved;

	for (; adding->next < adding->nr && adding->changes[adding->next].event <= event;
	     adding->next++) {
		const struct change *change = &adding->changes[adding->next];
		int64_t bytes = adding->savings->items[change->saving].bytes;

		adding->relieved += change->is_end ? -bytes : bytes;
		if (adding->relieved < least)
			least = adding->relieved;
	}
	return least;
}

static void look_into(struct adding *adding, uint32_t first, uint32_t end)
{
	const struct vt_timeline *timeline = adding->allocated->timeline;
	struct vt_totals totals = {
		.allocated_bytes = adding->allocated->stretches.items[first / STRETCH].before_bytes,
	};

	for (uint32_t i = first; i < end; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		relieve_to(adding, vt_moment_event(timeline->model, moment));
		vt_timeline_add(timeline, moment, adding->allocated->device, &totals);
		if (vt_timeline_is_last_of_event(timeline, moment) &&
		    (int64_t)totals.allocated_bytes - adding->relieved > adding->peak)
			adding->peak = (int64_t)totals.allocated_bytes - adding->relieved;
	}
}

/* Only where it may have the peak. */
static void add_stretch(struct adding *adding, uint32_t first, uint32_t end)
{
	const struct vt_timeline *timeline = adding->allocated->timeline;
	const struct vt_allocated_stretch *stretch =
		&adding->allocated->stretches.items[first / STRETCH];
	struct adding before = *adding;
	int64_t least =
		relieve_to(adding, vt_moment_event(timeline->model, &timeline->moments[end - 1]));

	if (stretch->most_bytes - least <= adding->peak)
		return;
	*adding = before;
	look_into(adding, first, end);
}

uint64_t vt_savings_peak_before(const struct vt_savings *savings,
				const struct vt_allocated *allocated, int64_t event)
{
	size_t nr_savings = savings ? savings->len : 0;
	struct change *changes = sorted_changes(savings, nr_savings);
	uint32_t end = vt_timeline_after(allocated->timeline, event - 1);
	struct adding adding = {
		.allocated = allocated, .savings = savings, .changes = changes, .nr = 2 * nr_savings
	};

	for (uint32_t first = 0; first < end; first += STRETCH)
		add_stretch(&adding, first, end - first < STRETCH ? end : first + STRETCH);
	free(changes);
	return (uint64_t)adding.peak;
}

uint64_t vt_savings_peak(const struct vt_savings *savings, const struct vt_allocated *allocated)
{
	return vt_savings_peak_before(savings, allocated, VT_NEVER);
}
