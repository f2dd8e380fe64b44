/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_SIZE_H
#define VTS_DRIVER_SIZE_H

/* Units of sizes, and rounding. */

#include <stdint.h>

#define VTS_KIB 1024ULL
#define VTS_MIB (1024 * VTS_KIB)
#define VTS_GIB (1024 * VTS_MIB)

/* The next multiple of a power of two. */
static inline uint64_t vts_size_round_up(uint64_t size, uint64_t multiple)
{
	return (size + multiple - 1) & ~(multiple - 1);
}

#endif
