/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/reclaim.h"

#include "analyzer/replay/expandable.h"

static int is_whole(const struct vt_piece *piece)
{
	return !piece->previous && !piece->next;
}

static void give_back(struct vt_pools *pools, struct vt_piece *piece)
{
	vt_pools_remove(piece);
	vt_card_discharge(pools->card, piece->size_bytes);
	vt_card_unreserve(pools->card, piece->address, piece->size_bytes);
	vt_pools_note(pools, VT_SEGMENT_GIVE_BACK, piece->address, piece->size_bytes);
	vt_pools_piece_free(pools, piece);
}

static uint64_t age_of(const struct vt_piece *piece)
{
	return (uint64_t)(piece->pool->nr_searches - piece->age_base);
}

static int is_collectable(const struct vt_piece *piece)
{
	return is_whole(piece) && !piece->run;
}

struct ages {
	uint64_t sum;
	uint64_t nr;
};

/* One round: what is at least as old as the average.  Returns the bytes given back. */
static uint64_t collect_round(struct vt_pools *pools, struct vt_pool *pool, struct ages *ages)
{
	double threshold = (double)ages->sum / (double)ages->nr;
	struct vt_piece *next;
	uint64_t bytes = 0;

	for (struct vt_piece *piece = vt_free_set_first(&pool->free); piece; piece = next) {
		next = vt_free_set_next(piece);
		if (!is_collectable(piece) || (double)age_of(piece) < threshold)
			continue;
		bytes += piece->size_bytes;
		ages->sum -= age_of(piece);
		ages->nr--;
		give_back(pools, piece);
	}
	return bytes;
}

void vt_reclaim_old(struct vt_pools *pools)
{
	struct vt_pool *pool = vt_pools_half(pools, 0, 0);
	uint64_t limit =
		(uint64_t)(pools->settings.gc_threshold * (double)vt_pools_allowed_bytes(pools));
	uint64_t target, bytes = 0, round = 1;
	struct ages ages = { 0 };

	if (pools->reserved_bytes <= limit)
		return;
	target = pools->reserved_bytes - limit;
	for (struct vt_piece *piece = vt_free_set_first(&pool->free); piece;
	     piece = vt_free_set_next(piece))
		if (is_collectable(piece)) {
			ages.sum += age_of(piece);
			ages.nr++;
		}
	while (bytes < target && round && ages.nr) {
		round = collect_round(pools, pool, &ages);
		bytes += round;
	}
}

int vt_reclaim_oversize(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
			uint64_t size_bytes)
{
	uint64_t limit = pools->settings.max_split_bytes, bytes = 0;
	uint64_t wanted = size_bytes < limit ? limit : size_bytes;
	struct vt_piece *piece, *before;

	if (limit == VT_SETTINGS_UNLIMITED)
		return 0;
	piece = vt_free_set_from(&pool->free, stream, wanted, 0);
	if (piece && piece->stream == stream && !piece->run) {
		give_back(pools, piece);
		return 1;
	}
	piece = vt_free_set_before(&pool->free, stream, wanted, 0);
	for (; bytes < wanted && piece && piece->size_bytes >= limit && piece->stream == stream;
	     piece = before) {
		before = vt_free_set_before(&pool->free, piece->stream, piece->size_bytes,
					    piece->address);
		if (piece->run)
			continue;
		bytes += piece->size_bytes;
		give_back(pools, piece);
	}
	return bytes >= wanted;
}

/* Shrinking changes the set, so the expandable pieces are gathered first. */
static void reclaim_half(struct vt_pools *pools, struct vt_pool *pool)
{
	VT_VECTOR(struct vt_piece *) expandable = { 0 };
	struct vt_piece *next;

	for (struct vt_piece *piece = vt_free_set_first(&pool->free); piece; piece = next) {
		next = vt_free_set_next(piece);
		if (piece->run)
			vt_vector_push(&expandable, piece);
		else if (is_whole(piece))
			give_back(pools, piece);
	}
	for (size_t i = 0; i < expandable.len; i++)
		vt_expandable_shrink(pools, expandable.items[i]);
	vt_vector_release(&expandable);
}

void vt_reclaim_all(struct vt_pools *pools)
{
	for (size_t i = 0; i < pools->halves.len; i++)
		if (!pools->halves.items[i]->is_kept)
			reclaim_half(pools, pools->halves.items[i]);
}
