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

uint64_t vt_savings_peak_before(const struct vt_savings *savings,
				const struct vt_timeline *timeline, int device, int64_t event)
{
	size_t nr_savings = savings ? savings->len : 0, nr = 2 * nr_savings, next = 0;
	struct change *changes = sorted_changes(savings, nr_savings);
	struct vt_totals totals = { 0 };
	uint32_t end = vt_timeline_after(timeline, event - 1);
	int64_t relieved = 0;
	uint64_t peak = 0;

	for (uint32_t i = 0; i < end; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		int64_t now = vt_moment_event(timeline->model, moment);

		for (; next < nr && changes[next].event <= now; next++) {
			int64_t bytes = savings->items[changes[next].saving].bytes;

			relieved += changes[next].is_end ? -bytes : bytes;
		}
		vt_timeline_add(timeline, moment, device, &totals);
		if (!vt_timeline_is_last_of_event(timeline, moment))
			continue;
		if ((int64_t)totals.allocated_bytes - relieved > (int64_t)peak)
			peak = (uint64_t)((int64_t)totals.allocated_bytes - relieved);
	}
	free(changes);
	return peak;
}

uint64_t vt_savings_peak(const struct vt_savings *savings, const struct vt_timeline *timeline,
			 int device)
{
	return vt_savings_peak_before(savings, timeline, device, VT_NEVER);
}
