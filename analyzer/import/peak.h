/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PEAK_H
#define VT_ANALYZER_PEAK_H

/*
 * Running totals per device and the instants at which they were highest, kept event by event during
 * an import. used = bytes held from the driver; allocated = bytes of a framework's blocks
 * (schema.sql, table peak).
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/util.h"
#include "common/kinds.h"

/* The instants of most use among those that were looked at; event 0 = none yet. */
struct vt_peak_instants {
	uint64_t event;
	uint64_t used_bytes;
	uint64_t allocated_bytes;
	uint64_t pooled_bytes;
	uint64_t max_allocated_event;
	uint64_t max_allocated_bytes;
	int is_changed; /* since the last save */
};

struct vt_peak_device {
	int32_t id;
	uint64_t used_bytes;
	uint64_t allocated_bytes;
	uint64_t pooled_bytes; /* allocations of stream-ordered pools: as blocks are of segments */
	uint64_t idle_bytes;   /* what pools hold beyond them, and graph memory */
	struct vt_peak_instants run;    /* of all */
	struct vt_peak_instants period; /* since vt_peak_begin_period() */
	int is_touched; /* since the last settle */
};

struct vt_peak_totals {
	VT_VECTOR(struct vt_peak_device) devices;
};

void vt_peak_release(struct vt_peak_totals *peak);

/* One allocation comes or goes.  vt_peak_settle then looks at the totals after the whole event. */
void vt_peak_add(struct vt_peak_totals *peak, int32_t device, unsigned int kind,
		 uint64_t size_bytes);
void vt_peak_remove(struct vt_peak_totals *peak, int32_t device, unsigned int kind,
		    uint64_t size_bytes);
void vt_peak_set_idle(struct vt_peak_totals *peak, int32_t device, uint64_t idle_bytes);
void vt_peak_settle(struct vt_peak_totals *peak, uint64_t event);
/* What is in use now, after `event`, is the first that counts for the period. */
void vt_peak_begin_period(struct vt_peak_totals *peak, uint64_t event);

/* Bytes held from the driver on that device now. */
uint64_t vt_peak_used(struct vt_peak_totals *peak, int32_t device);
struct vt_peak_device *vt_peak_device_at(struct vt_peak_totals *peak, int32_t device);

/*
 * Writes what changed to the peak table; reads it back.  The totals come from the open allocations.
 */
int vt_peak_save(struct vt_peak_totals *peak, struct vt_db *db);
int vt_peak_load(struct vt_peak_totals *peak, struct vt_db *db);

#endif
