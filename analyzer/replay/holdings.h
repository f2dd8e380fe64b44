/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HOLDINGS_H
#define VT_ANALYZER_HOLDINGS_H

/*
 * Which piece each allocation has that is alive: few at a time, where a table by allocation would
 * take four bytes for each there ever was.  Zero-initialised memory has none.
 */

#include <stdint.h>

#include "analyzer/replay/pools.h"

struct vt_holding {
	struct vt_piece *piece; /* NULL: the place is free */
	uint32_t allocation;
};

struct vt_holdings {
	struct vt_holding *places; /* by hash */
	uint32_t capacity;         /* a power of two, or 0 */
	uint32_t nr;
};

/* The allocation has none yet. */
void vt_holdings_add(struct vt_holdings *holdings, uint32_t allocation, struct vt_piece *piece);
/* What it has, NULL: nothing. */
struct vt_piece *vt_holdings_find(const struct vt_holdings *holdings, uint32_t allocation);
/* Returns what it had, NULL: nothing. */
struct vt_piece *vt_holdings_remove(struct vt_holdings *holdings, uint32_t allocation);
void vt_holdings_release(struct vt_holdings *holdings);

#endif
