/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLANNER_ALLOCATOR_H
#define VT_ANALYZER_PLANNER_ALLOCATOR_H

/*
 * PyTorch's caching allocator in numbers: which blocks and segments a row of requests makes on one
 * stream, with the default settings (c10/cuda/CUDACachingAllocator.cpp).
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/util.h"

struct vt_allocator_block {
	uint64_t size;
	uint32_t segment;
	int is_small, is_used, is_gone;
	uint32_t left, right; /* neighbours in the segment, UINT32_MAX: none */
};

/* Zero-initialised memory is an empty allocator. */
struct vt_allocator {
	VT_VECTOR(struct vt_allocator_block) blocks;
	uint64_t allocated_bytes, reserved_bytes;
	uint32_t nr_segments;
};

/* The block's number; its size is in `allocated_bytes` until it is freed. */
uint32_t vt_allocator_malloc(struct vt_allocator *allocator, uint64_t bytes);
void vt_allocator_free(struct vt_allocator *allocator, uint32_t block);
void vt_allocator_release(struct vt_allocator *allocator);

/*
 * What a block of a segment of its own counts beyond the request: the rest of the last 2 MiB where
 * it is too small to be split off.
 */
uint64_t vt_allocator_tail(uint64_t bytes);

#endif
