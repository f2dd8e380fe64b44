/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_SERIES_H
#define VT_ANALYZER_HTML_SERIES_H

/*
 * Memory over time by owner, in few enough numbers for a page: the events of a recording in buckets
 * of equally many.  Of each bucket and owner the least and the most, and what all owners had at the
 * instant at which they had most together, so that no peak is lost and a stack of owners is one
 * that existed.  Around what people look for (peaks, failed requests, marks, one whole step) every
 * single event is kept, in windows.
 */

#include "analyzer/analysis/analysis.h"
#include "analyzer/html/pack.h"
#include "analyzer/html/series_windows.h"

struct vt_series_column {
	const char *owner; /* borrowed from the attribution; NULL: all owners without a column */
	uint64_t *top;     /* by bucket */
	uint64_t *most;
	uint64_t *least;
};

/* The instant of most bytes with an owner in one step. */
struct vt_series_step {
	int64_t event;
	uint64_t bytes;
};

struct vt_series_device {
	const struct vt_device *device;
	uint16_t *column_of; /* by number of the owner */
	struct vt_series_column *columns;
	uint16_t nr_columns;
	uint32_t nr_others; /* owners without a column */
	uint64_t *used;     /* by bucket: the most, with the context */
	uint64_t *reserved;
	struct vt_series_step *steps; /* by number of the step - 1 */
	struct vt_series_windows windows;
};

struct vt_series {
	struct vt_analysis *analysis;
	int64_t events_per_bucket;
	uint32_t nr_buckets;
	int64_t *end_ns; /* by bucket */
	struct vt_series_device *devices;
	uint32_t nr_devices; /* those with a peak */
};

void vt_series_init(struct vt_series *series, struct vt_analysis *analysis);
void vt_series_release(struct vt_series *series);

/* Columns of `pack`, and what they mean. */
json_t *vt_series_json(const struct vt_series *series, struct vt_pack *pack);

#endif
