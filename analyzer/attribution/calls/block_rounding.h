/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BLOCK_ROUNDING_H
#define VT_ANALYZER_BLOCK_ROUNDING_H

/*
 * How much of a block was asked for: PyTorch's allocator rounds up to 512 bytes, and leaves up to
 * 1 MiB more in the last block of a segment.
 */

#include "analyzer/model/model.h"
#include "analyzer/replay/settings.h"

/* The block that a request becomes. */
static inline uint64_t vt_block_rounding_rounded(uint64_t bytes)
{
	return (bytes + VT_SETTINGS_BLOCK_ROUNDING - 1) / VT_SETTINGS_BLOCK_ROUNDING *
	       VT_SETTINGS_BLOCK_ROUNDING;
}

/* Its size as a block's; where the driver is asked for each tensor, that is not rounded. */
static inline uint64_t vt_block_rounding_block_bytes(const struct vt_allocation *a)
{
	return vt_allocation_is_driver(a) ? vt_block_rounding_rounded(a->common->size_bytes)
					  : a->common->size_bytes;
}

/* Whether it ends with its segment: only such a block can have a rest. */
int vt_block_rounding_can_have(const struct vt_model *model, const struct vt_allocation *a);
/* The fewest bytes that may have been asked for; the most are its size. */
uint64_t vt_block_rounding_least(const struct vt_model *model, const struct vt_allocation *a);

#endif
