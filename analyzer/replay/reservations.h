/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RESERVATIONS_H
#define VT_ANALYZER_RESERVATIONS_H

/*
 * The address ranges that a program reserved (cuMemAddressReserve), and which of them a caching
 * allocator uses as expandable segments: those in which a block lay.
 */

#include <stdint.h>

#include "analyzer/base/util.h"
#include "analyzer/model/timeline.h"

struct vt_reservation {
	uint64_t address;
	uint64_t size_bytes;
	int64_t event;
	int64_t ended_event;    /* VT_NEVER */
	uint64_t granule_bytes; /* of the first map; 0: nothing was mapped */
	uint32_t segment;       /* for the caller */
	int16_t device;
	uint8_t has_blocks;
};

VT_VECTOR_DECLARE(vt_reservations, struct vt_reservation);

void vt_reservations_find(struct vt_reservations *found, const struct vt_timeline *timeline);
void vt_reservations_release(struct vt_reservations *found);

/* The one around an address at the moment of an event, NULL where there is none. */
struct vt_reservation *vt_reservations_at(const struct vt_reservations *found, uint64_t address,
					  int64_t event);

#endif
