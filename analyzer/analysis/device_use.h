/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DEVICE_USE_H
#define VT_ANALYZER_DEVICE_USE_H

/*
 * The most that was in use on each device, as a report says it, for who does not read the whole
 * recording: closing lines and `vtrace info`.
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"

struct vt_device_use {
	int16_t device;
	uint8_t has_context;
	uint64_t peak_bytes;    /* with what the next three are */
	uint64_t context_bytes; /* at the peak */
	uint64_t other_bytes;   /* of other processes, where they are distinguished */
	uint64_t rounding_bytes;
};

/*
 * Of each device with a peak, by id; `*uses` is the caller's to free.  Returns how many, or -1 with
 * `diag` filled.
 */
int vt_device_use_read(struct vt_device_use **uses, struct vt_db *db, struct vt_diag *diag);
/* The highest of them; 0 bytes of device 0 where there is none, or it cannot be read. */
struct vt_device_use vt_device_use_highest(struct vt_db *db);

#endif
