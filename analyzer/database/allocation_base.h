/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_BASE_H
#define VT_ANALYZER_ALLOCATION_BASE_H

/*
 * How rows of allocation_row say their numbers: as differences from those of a row of
 * allocation_base, and packed (schema.sql).  Nothing depends on which numbers a base has.
 */

#include <stdint.h>

struct vt_allocation_base {
	int64_t id;
	int64_t time_ns;
	uint64_t address;
	uint64_t sequence;
	uint64_t allocated_bytes;
};

/* How many event numbers have one base, as a power of two; schema.sql's view says it too. */
#define VT_ALLOCATION_BASE_BITS 8

/* The base of the row with that id. */
static inline int64_t vt_allocation_base_id(int64_t id)
{
	return id >> VT_ALLOCATION_BASE_BITS;
}

/* The same in SQL, and the first and the last id that a base may have rows of. */
#define VT_ALLOCATION_BASE_TEXT(bits)	   #bits
#define VT_ALLOCATION_BASE_BY(shift, bits) shift VT_ALLOCATION_BASE_TEXT(bits)
#define VT_ALLOCATION_BASE_ID(id)                                                                  \
	"(" id VT_ALLOCATION_BASE_BY(" >> ", VT_ALLOCATION_BASE_BITS) ")"
#define VT_ALLOCATION_BASE_FIRST(base)                                                             \
	"(" base VT_ALLOCATION_BASE_BY(" << ", VT_ALLOCATION_BASE_BITS) ")"
#define VT_ALLOCATION_BASE_LAST(base) "(" VT_ALLOCATION_BASE_FIRST(base " + 1") " - 1)"

/*
 * Bytes, mostly a multiple of 512, as which PyTorch's allocator cuts its blocks.  Others lose their
 * highest bit but one, which differences of addresses do not use.
 */
static inline uint64_t vt_allocation_base_pack(uint64_t bytes)
{
	return bytes % 512 ? bytes << 1 | 1 : (uint64_t)((int64_t)bytes >> 8);
}

static inline uint64_t vt_allocation_base_unpack(int64_t packed)
{
	return packed & 1 ? (uint64_t)(packed >> 1) : (uint64_t)packed << 8;
}

#endif
