/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/allocator.h"

#include "analyzer/replay/expandable.h"
#include "analyzer/replay/reclaim.h"

struct request {
	struct vt_pool *pool;
	uint64_t size_bytes; /* rounded */
	uint32_t stream;
};

/* What an expandable piece could become: itself and the address space behind it. */
static uint64_t size_when_grown(const struct vt_piece *piece)
{
	const struct vt_piece *next = piece->next;

	return piece->size_bytes + (next && !next->is_mapped ? next->size_bytes : 0);
}

/* The best fit counts address space too, so that the open end is used last. */
static struct vt_piece *least_growable(struct vt_piece *piece, uint32_t stream)
{
	struct vt_piece *next = vt_free_set_next(piece);

	while (piece->run && next && next->stream == stream &&
	       size_when_grown(next) < size_when_grown(piece)) {
		piece = next;
		next = vt_free_set_next(next);
	}
	return piece;
}

/* Expandable segments were switched off while some exist: those are passed over. */
static struct vt_piece *first_fixed(struct vt_piece *piece, uint32_t stream)
{
	while (piece && piece->run && piece->stream == stream)
		piece = vt_free_set_next(piece);
	return piece && piece->stream == stream ? piece : NULL;
}

static struct vt_piece *find_free(struct vt_pools *pools, const struct request *request)
{
	const struct vt_settings *settings = &pools->settings;
	struct vt_piece *piece;

	if (vt_pools_is_collecting(pools))
		request->pool->nr_searches++;
	piece = vt_free_set_from(&request->pool->free, request->stream, request->size_bytes, 0);
	if (!piece || piece->stream != request->stream)
		return NULL;
	/* Above 2^48 bytes, which no device has, the set does not tell sizes apart. */
	if (piece->size_bytes < request->size_bytes)
		return NULL;
	if (piece->run && settings->is_expandable)
		piece = least_growable(piece, request->stream);
	else if (piece->run)
		piece = first_fixed(piece, request->stream);
	if (!piece)
		return NULL;
	if (request->size_bytes < settings->max_split_bytes &&
	    piece->size_bytes >= settings->max_split_bytes)
		return NULL;
	if (request->size_bytes >= settings->max_split_bytes &&
	    piece->size_bytes - request->size_bytes >= settings->max_rounding_bytes)
		return NULL;
	vt_pools_remove(piece);
	return piece;
}

/* A limit below the device is checked with the size of a fixed segment, whatever the kind. */
static struct vt_piece *new_segment(struct vt_pools *pools, const struct request *request)
{
	uint64_t size_bytes = vt_settings_segment(&pools->settings, request->size_bytes);
	uint64_t allowed = vt_pools_allowed_bytes(pools), address;

	if (size_bytes > allowed || pools->reserved_bytes > allowed - size_bytes)
		return NULL;
	if (pools->settings.is_expandable)
		return vt_expandable_grow(pools, request->pool, request->stream,
					  request->size_bytes);
	if (vt_card_charge(pools->card, size_bytes))
		return NULL;
	address = vt_card_reserve(pools->card, size_bytes);
	vt_pools_note(pools, VT_SEGMENT_TAKE, address, size_bytes);
	return vt_pools_piece_new(pools, request->pool, request->stream, address, size_bytes);
}

static struct vt_piece *obtain(struct vt_pools *pools, const struct request *request)
{
	struct vt_piece *piece = find_free(pools, request);

	if (piece)
		return piece;
	if (vt_pools_is_collecting(pools))
		vt_reclaim_old(pools);
	piece = new_segment(pools, request);
	if (!piece &&
	    vt_reclaim_oversize(pools, request->pool, request->stream, request->size_bytes))
		piece = new_segment(pools, request);
	if (piece)
		return piece;
	vt_allocator_empty_cache(pools);
	pools->nr_retries++;
	return new_segment(pools, request);
}

struct vt_piece *vt_allocator_take(struct vt_pools *pools, uint64_t request_bytes, uint32_t stream,
				   uint32_t pool_number)
{
	uint64_t rounded = vt_settings_round(&pools->settings, request_bytes);
	struct request request = {
		.pool = vt_pools_half(pools, pool_number, vt_settings_is_small(rounded)),
		.size_bytes = rounded,
		.stream = stream,
	};
	struct vt_piece *piece = obtain(pools, &request);

	if (!piece)
		return NULL;
	if (vt_settings_is_split(&pools->settings, rounded, piece->size_bytes - rounded)) {
		struct vt_piece *rest = piece;

		piece = vt_pools_split(pools, rest, rounded);
		vt_pools_insert(rest);
	}
	piece->is_allocated = 1;
	pools->allocated_bytes += piece->size_bytes;
	return piece;
}

void vt_allocator_give(struct vt_pools *pools, struct vt_piece *piece)
{
	/* A list that has a piece twice is searched for ever: no figure is worth that. */
	if (!piece->is_allocated)
		abort();
	pools->allocated_bytes -= piece->size_bytes;
	piece->is_allocated = 0;
	piece->holder = VT_PIECE_NOBODY;
	vt_pools_merge(pools, piece);
	vt_pools_insert(piece);
}

void vt_allocator_empty_cache(struct vt_pools *pools)
{
	vt_reclaim_all(pools);
}
