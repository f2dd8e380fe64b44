/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TOTALS_H
#define VT_ANALYZER_TOTALS_H

/*
 * What happened on the devices during stretches of the recording.
 */

#include <stdint.h>

#include "analyzer/model/timeline.h"

struct vt_range {
	int64_t first_event;
	int64_t last_event;
};

/* One range on one device. */
struct vt_range_totals {
	uint64_t peak_used_bytes; /* without the context */
	int64_t peak_event;
	uint64_t peak_allocated_bytes; /* highest, not necessarily at peak_event */
	uint64_t end_allocated_bytes;
};

/*
 * Rows of one entry per vt_model.devices, for `nr` ranges in the order of their first events;
 * ranges may lie in each other.  To be freed.  Time grows with events times open ranges.
 */
struct vt_range_totals *vt_totals_add_up(const struct vt_timeline *timeline,
					 const struct vt_range *ranges, uint32_t nr);

#endif
