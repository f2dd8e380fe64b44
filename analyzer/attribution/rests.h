/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RESTS_H
#define VT_ANALYZER_RESTS_H

/*
 * How much of a block was asked for: PyTorch's allocator rounds up to 512 bytes, and leaves up to
 * 1 MiB more in the last block of a segment (kMinBlockSize and kSmallSize in
 * CUDACachingAllocator.cpp).
 */

#include "analyzer/model/model.h"

#define VT_REST_ROUNDING 512
#define VT_REST_MAX      (1u << 20)

/* Whether it ends with its segment: only such a block can have a rest. */
int vt_rests_can_have(const struct vt_model *model, const struct vt_allocation *a);
/* The fewest bytes that may have been asked for; the most are its size. */
uint64_t vt_rests_least(const struct vt_model *model, const struct vt_allocation *a);

#endif
