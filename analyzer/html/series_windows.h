/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_SERIES_WINDOWS_H
#define VT_ANALYZER_HTML_SERIES_WINDOWS_H

/* The stretches of the recording of which a series (series.h) keeps every event. */

#include <stdint.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"

/* A change within a window. */
struct vt_series_row {
	int64_t event;
	int64_t time_ns;
	int64_t change_bytes;
	uint16_t column; /* VT_SERIES_NO_COLUMN: memory that no owner has */
	uint8_t is_used;     /* it changes what is used of the device */
	uint8_t is_reserved; /* ... and what blocks lie in */
};

#define VT_SERIES_NO_COLUMN UINT16_MAX

struct vt_series_window {
	int64_t first_event;
	int64_t last_event;
	uint64_t *before; /* by column, then used (with the context), reserved; NULL: no rows */
	size_t first_row;
	size_t end_row;
};

struct vt_series_windows {
	VT_VECTOR(struct vt_series_window) all; /* in order, apart from each other */
	VT_VECTOR(struct vt_series_row) rows;
	size_t at; /* the first that does not end before the event being played */
};

/* Around what people look for on one device; the room for events is that of all devices. */
void vt_series_windows_choose(struct vt_series_windows *windows, const struct vt_analysis *analysis,
			      int device, uint32_t nr_devices);
/*
 * The window that `event` is in, or NULL; events come in their order.  Its `before` is to be filled
 * in where it is NULL.
 */
struct vt_series_window *vt_series_windows_at(struct vt_series_windows *windows, int64_t event);
void vt_series_windows_add(struct vt_series_windows *windows, struct vt_series_window *window,
			   const struct vt_series_row *row);
void vt_series_windows_release(struct vt_series_windows *windows);

#endif
