/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SAVINGS_H
#define VT_ANALYZER_SAVINGS_H

/*
 * What the highest use of a device would have been if some bytes had not been there for some time.
 * A saving at one moment is none where the use was as high at another: only the whole run tells.
 */

#include "analyzer/base/util.h"
#include "analyzer/model/timeline.h"

/* `bytes` less from one event to the one before another, which are as in the model's rows. */
struct vt_saving {
	uint32_t from_event;
	uint32_t to_event; /* VT_NEVER: to the end */
	int64_t bytes; /* negative: what a change costs */
	const struct vt_allocation *allocation; /* whose they are */
};

VT_VECTOR_DECLARE(vt_savings, struct vt_saving);

/* `bytes` of an allocation as long as it lives. */
void vt_savings_add(struct vt_savings *savings, const struct vt_allocation *a, uint64_t bytes);

/* The same between two events, as far as it is alive then. */
void vt_savings_add_between(struct vt_savings *savings, const struct vt_allocation *a,
			    uint64_t bytes, int64_t from_event, int64_t to_event);

/* What the change takes while `a` lives, up to an event. */
void vt_savings_add_cost(struct vt_savings *savings, const struct vt_allocation *a, uint64_t bytes,
			 int64_t from_event, int64_t to_event);

/* Some moments of a timeline: allocated bytes in front of them, and at most behind one of them. */
struct vt_allocated_stretch {
	uint64_t before_bytes;
	int64_t most_bytes; /* below 0 only in a damaged file */
};

/*
 * The bytes with an owner over a timeline, on one device: each list of savings is added up over all
 * of it, but looks into few stretches of it.
 */
struct vt_allocated {
	const struct vt_timeline *timeline;
	int device;
	VT_VECTOR(struct vt_allocated_stretch) stretches;
};

void vt_allocated_init(struct vt_allocated *allocated, const struct vt_timeline *timeline,
		       int device);
void vt_allocated_release(struct vt_allocated *allocated);

/* The most at any moment, with the savings; NULL: as recorded. */
uint64_t vt_savings_peak(const struct vt_savings *savings, const struct vt_allocated *allocated);
/* The same at any moment before `event`. */
uint64_t vt_savings_peak_before(const struct vt_savings *savings,
				const struct vt_allocated *allocated, int64_t event);

#endif
