/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/pools.h"

#include <string.h>

#define PIECES_PER_CHUNK 512

void vt_pools_init(struct vt_pools *pools, const struct vt_settings *settings, struct vt_card *card,
		   uint64_t device_bytes)
{
	memset(pools, 0, sizeof(*pools));
	pools->settings = *settings;
	pools->card = card;
	pools->device_bytes = device_bytes;
}

void vt_pools_release(struct vt_pools *pools)
{
	for (size_t i = 0; i < pools->halves.len; i++) {
		vt_free_set_release(&pools->halves.items[i]->free);
		vt_free_set_release(&pools->halves.items[i]->unmapped);
		free(pools->halves.items[i]);
	}
	for (size_t i = 0; i < pools->runs.len; i++)
		free(pools->runs.items[i]);
	for (size_t i = 0; i < pools->chunks.len; i++)
		free(pools->chunks.items[i]);
	vt_vector_release(&pools->halves);
	vt_vector_release(&pools->runs);
	vt_vector_release(&pools->chunks);
}

static struct vt_pool *half_new(int is_small)
{
	struct vt_pool *pool = vt_xcalloc(1, sizeof(*pool));

	vt_free_set_init(&pool->free, 0);
	vt_free_set_init(&pool->unmapped, 1);
	pool->is_small = (uint8_t)is_small;
	return pool;
}

struct vt_pool *vt_pools_half(struct vt_pools *pools, uint32_t number, int is_small)
{
	size_t at = 2 * (size_t)number + (is_small ? 1 : 0);

	while (pools->halves.len <= at) {
		struct vt_pool *half = half_new(pools->halves.len % 2 == 1);

		vt_vector_push(&pools->halves, half);
	}
	return pools->halves.items[at];
}

int vt_pools_is_collecting(const struct vt_pools *pools)
{
	return vt_settings_is_collecting(&pools->settings);
}

uint64_t vt_pools_allowed_bytes(const struct vt_pools *pools)
{
	/* Of a device whose size is not known nothing is a fraction. */
	if (pools->settings.memory_fraction >= 1 || !pools->device_bytes)
		return UINT64_MAX;
	return (uint64_t)(pools->settings.memory_fraction * (double)pools->device_bytes);
}

static void add_spares(struct vt_pools *pools)
{
	struct vt_piece *chunk = vt_xmalloc(PIECES_PER_CHUNK * sizeof(*chunk));

	vt_vector_push(&pools->chunks, chunk);
	for (size_t i = 0; i < PIECES_PER_CHUNK; i++) {
		chunk[i].next = pools->spare;
		pools->spare = &chunk[i];
	}
}

struct vt_piece *vt_pools_piece_new(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
				    uint64_t address, uint64_t size_bytes)
{
	struct vt_piece *piece;

	if (!pools->spare)
		add_spares(pools);
	piece = pools->spare;
	pools->spare = piece->next;
	/* Links are filled when it comes into a set. */
	piece->address = address;
	piece->size_bytes = size_bytes;
	piece->stream = stream;
	piece->is_allocated = 0;
	piece->is_mapped = 1;
	piece->previous = piece->next = NULL;
	piece->run = NULL;
	piece->pool = pool;
	piece->age_base = 0;
	piece->holder = VT_PIECE_NOBODY;
	piece->segment = 0;
	return piece;
}

void vt_pools_piece_free(struct vt_pools *pools, struct vt_piece *piece)
{
	piece->next = pools->spare;
	pools->spare = piece;
}

struct vt_piece *vt_pools_split(struct vt_pools *pools, struct vt_piece *piece, uint64_t size_bytes)
{
	struct vt_piece *front =
		vt_pools_piece_new(pools, piece->pool, piece->stream, piece->address, size_bytes);

	front->run = piece->run;
	front->segment = piece->segment;
	front->is_mapped = piece->is_mapped;
	front->previous = piece->previous;
	if (front->previous)
		front->previous->next = front;
	front->next = piece;
	piece->previous = front;
	piece->address += size_bytes;
	piece->size_bytes -= size_bytes;
	return front;
}

static struct vt_piece *free_around(const struct vt_pools *pools, uint64_t address, uint64_t end)
{
	for (size_t i = 0; i < pools->halves.len; i++) {
		struct vt_piece *piece = vt_free_set_first(&pools->halves.items[i]->free);

		for (; piece; piece = vt_free_set_next(piece))
			if (piece->address <= address && end <= piece->address + piece->size_bytes)
				return piece;
	}
	return NULL;
}

struct vt_piece *vt_pools_take_at(struct vt_pools *pools, uint64_t address, uint64_t size_bytes)
{
	struct vt_piece *piece = free_around(pools, address, address + size_bytes);

	if (!piece)
		return NULL;
	vt_pools_remove(piece);
	if (piece->address < address)
		vt_pools_insert(vt_pools_split(pools, piece, address - piece->address));
	if (piece->size_bytes > size_bytes) {
		struct vt_piece *rest = piece;

		piece = vt_pools_split(pools, rest, size_bytes);
		vt_pools_insert(rest);
	}
	piece->is_allocated = 1;
	pools->allocated_bytes += size_bytes;
	return piece;
}

static int can_join(const struct vt_piece *piece, const struct vt_piece *other)
{
	return other && !other->is_allocated && other->is_mapped == piece->is_mapped;
}

void vt_pools_merge(struct vt_pools *pools, struct vt_piece *piece)
{
	struct vt_piece *previous = piece->previous, *next = piece->next;

	if (can_join(piece, previous)) {
		vt_pools_remove(previous);
		piece->address = previous->address;
		piece->size_bytes += previous->size_bytes;
		piece->previous = previous->previous;
		if (piece->previous)
			piece->previous->next = piece;
		vt_pools_piece_free(pools, previous);
	}
	if (can_join(piece, next)) {
		vt_pools_remove(next);
		piece->size_bytes += next->size_bytes;
		piece->next = next->next;
		if (piece->next)
			piece->next->previous = piece;
		vt_pools_piece_free(pools, next);
	}
}

void vt_pools_insert(struct vt_piece *piece)
{
	struct vt_pool *pool = piece->pool;

	piece->age_base = pool->nr_searches;
	vt_free_set_insert(piece->is_mapped ? &pool->free : &pool->unmapped, piece);
}

void vt_pools_remove(struct vt_piece *piece)
{
	struct vt_pool *pool = piece->pool;

	vt_free_set_remove(piece->is_mapped ? &pool->free : &pool->unmapped, piece);
}

void vt_pools_note(struct vt_pools *pools, enum vt_segment_op op, uint64_t address,
		   uint64_t size_bytes)
{
	int is_more = op == VT_SEGMENT_TAKE || op == VT_SEGMENT_MAP;

	pools->reserved_bytes += is_more ? size_bytes : 0 - size_bytes;
	if (pools->note)
		pools->note(pools->context, op, address, size_bytes);
}
