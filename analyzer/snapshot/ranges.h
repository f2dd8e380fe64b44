/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RANGES_H
#define VT_ANALYZER_RANGES_H

/* A set of addresses as ranges that neither overlap nor touch, sorted. */

#include <stdint.h>

#include "analyzer/base/util.h"

struct vt_range {
	uint64_t start;
	uint64_t end;
};

VT_VECTOR_DECLARE(vt_ranges, struct vt_range);

void vt_ranges_add(struct vt_ranges *ranges, uint64_t start, uint64_t end);
void vt_ranges_remove(struct vt_ranges *ranges, uint64_t start, uint64_t end);
/* Appends to `missing` what of start..end is not in the set; parts do not touch. */
void vt_ranges_missing(const struct vt_ranges *ranges, uint64_t start, uint64_t end,
		       struct vt_ranges *missing);

#endif
