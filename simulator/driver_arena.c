/* SPDX-License-Identifier: MIT */
#include "simulator/driver_arena.h"

#include "simulator/driver_device.h"
#include "simulator/driver_size.h"
#include "simulator/driver_space.h"

#include <stdlib.h>
#include <string.h>

static CUdeviceptr fit(const struct vts_chunk *chunk, uint64_t size_bytes)
{
	return vts_ranges_first_fit(&chunk->blocks, chunk->start, chunk->start + chunk->size_bytes,
				    size_bytes, VTS_ARENA_ALIGNMENT);
}

static struct vts_chunk *insert_chunk(struct vts_arena *arena, CUdeviceptr start, uint64_t size)
{
	struct vts_chunk *chunks = realloc(arena->chunks, (arena->nr_chunks + 1) * sizeof(*chunks));
	size_t at = 0;

	if (!chunks)
		return NULL;
	arena->chunks = chunks;
	while (at < arena->nr_chunks && chunks[at].start < start)
		at++;
	memmove(chunks + at + 1, chunks + at, (arena->nr_chunks - at) * sizeof(*chunks));
	memset(&chunks[at], 0, sizeof(*chunks));
	chunks[at].start = start;
	chunks[at].size_bytes = size;
	arena->nr_chunks++;
	arena->reserved_bytes += size;
	return &chunks[at];
}

static CUresult add_chunk(struct vts_arena *arena, uint64_t size_bytes, struct vts_chunk **chunk)
{
	CUresult result = vts_device_charge(arena->device, size_bytes);
	CUdeviceptr start;

	if (result)
		return result;
	start = vts_space_take(arena->device, size_bytes, 0, 0, 1);
	if (start)
		*chunk = insert_chunk(arena, start, size_bytes);
	if (start && *chunk)
		return CUDA_SUCCESS;
	if (start)
		vts_space_give_back(arena->device, start);
	vts_device_discharge(arena->device, size_bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult vts_arena_alloc(struct vts_arena *arena, uint64_t size_bytes, CUdeviceptr *address)
{
	struct vts_range block = {
		.size_bytes = size_bytes,
		.span_bytes = vts_size_round_up(size_bytes, VTS_ARENA_ALIGNMENT),
	};
	struct vts_chunk *chunk = NULL;
	CUresult result;

	for (size_t i = 0; i < arena->nr_chunks && !block.start; i++) {
		chunk = &arena->chunks[i];
		block.start = fit(chunk, block.span_bytes);
	}
	if (!block.start) {
		result =
			add_chunk(arena, vts_size_round_up(size_bytes, arena->chunk_bytes), &chunk);
		if (result)
			return result;
		block.start = chunk->start;
	}
	if (vts_ranges_insert(&chunk->blocks, &block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	arena->used_bytes += block.span_bytes;
	/* An earlier block may have left its bytes. */
	vts_space_clear(block.start, block.span_bytes);
	*address = block.start;
	return CUDA_SUCCESS;
}

static void drop_chunk(struct vts_arena *arena, size_t index)
{
	struct vts_chunk *chunk = &arena->chunks[index];

	vts_space_give_back(arena->device, chunk->start);
	vts_device_discharge(arena->device, chunk->size_bytes);
	arena->reserved_bytes -= chunk->size_bytes;
	free(chunk->blocks.items);
	arena->nr_chunks--;
	memmove(chunk, chunk + 1, (arena->nr_chunks - index) * sizeof(*chunk));
}

void vts_arena_trim(struct vts_arena *arena, uint64_t keep_bytes)
{
	for (size_t i = arena->nr_chunks; i-- > 0 && arena->reserved_bytes > keep_bytes;)
		if (!arena->chunks[i].blocks.nr_items)
			drop_chunk(arena, i);
}

void vts_arena_free(struct vts_arena *arena, CUdeviceptr address)
{
	for (size_t i = 0; i < arena->nr_chunks; i++) {
		struct vts_range *block = vts_ranges_find_start(&arena->chunks[i].blocks, address);

		if (!block)
			continue;
		arena->used_bytes -= block->span_bytes;
		vts_ranges_remove(&arena->chunks[i].blocks, block);
		break;
	}
	if (arena->is_ending && !arena->used_bytes)
		vts_arena_trim(arena, 0);
}
