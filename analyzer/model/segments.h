/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SEGMENTS_H
#define VT_ANALYZER_SEGMENTS_H

/*
 * How much of each segment is given out.  A segment is what PyTorch's empty_cache can give back as
 * a whole: a cudaMalloc, or one granule of an expandable segment, which has a separate handle
 * (c10/cuda/CUDACachingAllocator.cpp, ExpandableSegment::unmap: "all the completely empty
 * segment_size_ segments").
 */

#include "analyzer/model/model.h"

/* The segment that the allocation with that index is, or NULL. */
const struct vt_segment *vt_segments_find(const struct vt_model *model, uint32_t allocation);

/* Adds the bytes of a block to `held`, bytes by index of vt_model.segments. */
void vt_segments_hold(const struct vt_model *model, uint64_t *held, uint32_t block);

#endif
