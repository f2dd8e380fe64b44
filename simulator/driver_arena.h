/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_ARENA_H
#define VTS_DRIVER_ARENA_H

/*
 * Sub-allocation: blocks out of chunks of physical memory, from the lowest free address.  The
 * slabs of small allocations, memory pools and graph memory are arenas that differ in chunk size
 * and in when an empty chunk goes back to the device.
 *
 * Needs the call mutex.
 */

#include "simulator/driver_ranges.h"

#define VTS_ARENA_ALIGNMENT 512ULL /* what cudaMalloc is seen to give; documented are 256 */

struct vts_chunk {
	CUdeviceptr start;
	uint64_t size_bytes;
	struct vts_ranges blocks;
};

struct vts_arena {
	CUdevice device;
	uint64_t chunk_bytes;
	struct vts_chunk *chunks; /* in order of address */
	size_t nr_chunks;
	uint64_t reserved_bytes;
	uint64_t used_bytes;
	int is_ending; /* all chunks go with the last block */
};

/* CUDA_ERROR_OUT_OF_MEMORY when the device cannot give another chunk. */
CUresult vts_arena_alloc(struct vts_arena *arena, uint64_t size_bytes, CUdeviceptr *address);

/* The chunk stays reserved, unless the arena is ending. */
void vts_arena_free(struct vts_arena *arena, CUdeviceptr address);

/* Gives empty chunks back, the highest first, while more than keep_bytes are reserved. */
void vts_arena_trim(struct vts_arena *arena, uint64_t keep_bytes);

#endif
