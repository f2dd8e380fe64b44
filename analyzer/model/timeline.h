/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TIMELINE_H
#define VT_ANALYZER_TIMELINE_H

/*
 * All events of a recording in order, and the running totals of a device over them.
 */

#include <stdint.h>

#include "analyzer/model/model.h"

enum vt_moment_what {
	VT_MOMENT_FREE,  /* index: the allocation that ends here */
	VT_MOMENT_OTHER, /* index: vt_model.events */
	VT_MOMENT_ALLOC,
	VT_MOMENT_MARK,
	VT_MOMENT_OUT_OF_MEMORY,
};

/*
 * One event number may have two moments: an unmap that also ends the memory behind it.
 * Small: there is one for every event, whose number its row knows.
 */
struct vt_moment {
	uint32_t index : 29; /* VT_MOST_ROWS */
	uint32_t what : 3;   /* enum vt_moment_what */
};

/* Its event number, as a row has it. */
static inline uint32_t vt_moment_event(const struct vt_model *model, const struct vt_moment *moment)
{
	switch (moment->what) {
	case VT_MOMENT_FREE:
		return model->allocations[moment->index].freed_event;
	case VT_MOMENT_ALLOC:
		return model->allocations[moment->index].event;
	case VT_MOMENT_MARK:
		return vt_allocation_event(model->marks[moment->index].event);
	case VT_MOMENT_OUT_OF_MEMORY:
		return vt_allocation_event(model->ooms[moment->index].event);
	default:
		return vt_allocation_event(model->events[moment->index].event);
	}
}

struct vt_timeline {
	const struct vt_model *model;
	struct vt_moment *moments; /* by event, then by what */
	uint32_t nr;
};

void vt_timeline_init(struct vt_timeline *timeline, const struct vt_model *model);
void vt_timeline_release(struct vt_timeline *timeline);

/* What ends and what begins with one event is there only after all of its moments. */
int vt_timeline_is_last_of_event(const struct vt_timeline *timeline,
				 const struct vt_moment *moment);
/*
 * Only after the last moment of an event are totals those of an instant, and in a past that is
 * folded only at some.
 */
int vt_timeline_is_instant(const struct vt_timeline *timeline, const struct vt_moment *moment);
/* Index of the first moment after `event`. */
uint32_t vt_timeline_after(const struct vt_timeline *timeline, int64_t event);
/* Time of the last moment at or before `event`, in ns since the start of the recording. */
int64_t vt_timeline_time(const struct vt_timeline *timeline, int64_t event);
int64_t vt_timeline_moment_time(const struct vt_timeline *timeline, const struct vt_moment *moment);

/*
 * Bytes of one device.  used: from the driver, with what pools keep, without the context;
 * allocated: of what has an owner.
 */
struct vt_totals {
	uint64_t used_bytes;
	uint64_t allocated_bytes;
};

/* Adds what `moment` changes on `device`. */
void vt_timeline_add(const struct vt_timeline *timeline, const struct vt_moment *moment, int device,
		     struct vt_totals *totals);

#endif
