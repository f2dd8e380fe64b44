/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_TIMES_H
#define VT_ANALYZER_ALLOCATION_TIMES_H

/*
 * When allocations were made and freed, in ns since the start of the recording: exact, in four
 * bytes each.  Rows follow each other in time, so 1,024 of them share a base, and most are freed
 * soon.  A time that is more than four seconds after its base, or a longer life, is in a separate
 * list.
 * Zero-initialised memory has none.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

/* A time that has no place beside the others. */
struct vt_far_time {
	uint32_t row;
	int64_t time_ns;
};
VT_VECTOR_DECLARE(vt_far_times, struct vt_far_time);

struct vt_allocation_times {
	VT_VECTOR(int64_t) bases;      /* of 1,024 rows each */
	VT_VECTOR(uint32_t) made;      /* since the base */
	VT_VECTOR(uint32_t) freed;     /* since it was made */
	struct vt_far_times far_made;  /* by row */
	struct vt_far_times far_freed; /* by row */
};

/* Of the next row. */
void vt_allocation_times_add(struct vt_allocation_times *times, int64_t made_ns, int64_t freed_ns);
/* The rows of `from` come after those of `times`; `from` has none. */
void vt_allocation_times_append(struct vt_allocation_times *times,
				struct vt_allocation_times *from);
int64_t vt_allocation_times_made(const struct vt_allocation_times *times, uint32_t row);
/* What was given for it where the row was not freed. */
int64_t vt_allocation_times_freed(const struct vt_allocation_times *times, uint32_t row);
void vt_allocation_times_release(struct vt_allocation_times *times);

#endif
