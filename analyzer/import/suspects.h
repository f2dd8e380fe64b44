/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SUSPECTS_H
#define VT_ANALYZER_SUSPECTS_H

/*
 * Allocations that were alive when events were lost: whether they were freed among those, only what
 * comes later at their addresses can show.  By class of address and address.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

struct vt_suspect {
	uint64_t class;
	uint64_t address;
	uint64_t end_address;
	uint64_t id;	/* of the allocation */
	uint64_t reach; /* the furthest end up to this one; set by vt_suspects_sort */
};

struct vt_suspects {
	VT_VECTOR(struct vt_suspect) items;
};

void vt_suspects_add(struct vt_suspects *suspects, const struct vt_suspect *suspect);
/* After the last one was added. */
void vt_suspects_sort(struct vt_suspects *suspects);
void vt_suspects_clear(struct vt_suspects *suspects);
void vt_suspects_release(struct vt_suspects *suspects);

/*
 * Those that may share bytes with [address, end_address): *nr of them from the one that is
 * returned, of which some may end before it where they overlap each other.  NULL: none.
 */
const struct vt_suspect *vt_suspects_at(const struct vt_suspects *suspects, uint64_t class,
					uint64_t address, uint64_t end_address, size_t *nr);

#endif
