/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BLOCK_ROUNDING_H
#define VT_ANALYZER_BLOCK_ROUNDING_H

/*
 * How much of a block was asked for: as recorded, or what it can have been.  PyTorch's allocator
 * rounds up to 512 bytes, and leaves up to 1 MiB more in the last block of a segment; from 2.14 on
 * a large block may have a longer tail.
 */

#include "analyzer/model/model.h"
#include "analyzer/replay/settings.h"

/* The block that a request becomes. */
static inline uint64_t vt_block_rounding_rounded(uint64_t bytes)
{
	return (bytes + VT_SETTINGS_BLOCK_ROUNDING - 1) / VT_SETTINGS_BLOCK_ROUNDING *
	       VT_SETTINGS_BLOCK_ROUNDING;
}

/*
 * The block that its request becomes, without a tail if the request is known.  What the driver was
 * asked for is not rounded: as if it were a block.
 */
static inline uint64_t vt_block_rounding_block_bytes(const struct vt_allocation *a)
{
	return vt_allocation_is_driver(a) || a->common->requested_bytes
		       ? vt_block_rounding_rounded(vt_allocation_asked_bytes(a))
		       : a->common->size_bytes;
}

/* Whether it ends with its segment: only such a block can have a rest. */
int vt_block_rounding_can_have(const struct vt_model *model, const struct vt_allocation *a);
/* The fewest bytes that may have been asked for; the most are its size. */
uint64_t vt_block_rounding_least(const struct vt_model *model, const struct vt_allocation *a);

#endif
