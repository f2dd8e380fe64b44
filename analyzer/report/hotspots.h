/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HOTSPOTS_H
#define VT_ANALYZER_HOTSPOTS_H

/*
 * Live bytes by the place in the program that made them (site.h).
 */

#include <stdint.h>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/describe.h"

struct vt_hotspot {
	uint64_t place;
	uint64_t bytes;
	uint32_t blocks;
	uint32_t owner;
	const struct vt_allocation *first; /* that of the oldest stacks from there */
};

struct vt_hotspots {
	struct vt_hotspot *items; /* largest first */
	uint32_t nr;
};

void vt_hotspots_init(struct vt_hotspots *hotspots, struct vt_attribution *attribution,
		      const struct vt_describe *describe, int device, int64_t event);
void vt_hotspots_release(struct vt_hotspots *hotspots);

#endif
