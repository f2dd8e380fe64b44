/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PACKING_H
#define VT_ANALYZER_PACKING_H

/*
 * Blocks packed by an oracle that knows when each will come and go: in one stretch of memory, no
 * two at one place at a time.  The best packing is hard to find; this one is above it, and the most
 * that lived at once is below it.
 */

#include <stddef.h>
#include <stdint.h>

/* More would take long: each is compared with all. */
#define VT_PACKING_MOST 20000

struct vt_packing_block {
	int64_t from, to; /* lives from one event to before another */
	uint64_t bytes;
	uint64_t offset; /* where it was put */
};

/* Puts all in their places and orders them by these; the bytes of the stretch. */
uint64_t vt_packing_find(struct vt_packing_block *blocks, size_t nr);

#endif
