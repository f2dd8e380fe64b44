/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/expandable.h"

static int is_usable(const struct vt_piece *piece)
{
	return piece && !piece->is_allocated;
}

static int has_room(const struct vt_piece *piece, uint64_t size_bytes)
{
	uint64_t bytes = 0;

	for (; bytes < size_bytes && is_usable(piece); piece = piece->next)
		bytes += piece->size_bytes;
	return bytes >= size_bytes;
}

/* Address space for a device whose size is not known: more than any has. */
#define UNKNOWN_DEVICE ((uint64_t)1 << 42)

/* One unmapped piece: the device's memory and an eighth, so that gaps can be left behind. */
static struct vt_piece *run_new(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream)
{
	uint64_t device_bytes = pools->device_bytes ? pools->device_bytes : UNKNOWN_DEVICE;
	uint64_t wanted = device_bytes + device_bytes / 8;
	struct vt_segment_run *run = vt_xcalloc(1, sizeof(*run));
	struct vt_piece *piece;

	run->granule_bytes = vt_settings_granule(&pools->settings, pool->is_small);
	run->size_bytes =
		(wanted + run->granule_bytes - 1) / run->granule_bytes * run->granule_bytes;
	run->address = vt_card_reserve(pools->card, run->size_bytes);
	vt_vector_push(&pools->runs, run);
	piece = vt_pools_piece_new(pools, pool, stream, run->address, run->size_bytes);
	piece->run = run;
	piece->is_mapped = 0;
	vt_pools_insert(piece);
	return piece;
}

static struct vt_piece *find_room(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
				  uint64_t size_bytes)
{
	struct vt_piece *piece = vt_free_set_from(&pool->unmapped, stream, 0, 0);

	for (; piece && piece->stream == stream; piece = vt_free_set_next(piece)) {
		struct vt_piece *first = is_usable(piece->previous) ? piece->previous : piece;

		if (has_room(first, size_bytes))
			return first;
	}
	return run_new(pools, pool, stream);
}

/*
 * Backs the first `size_bytes` of an unmapped piece, which begins at a granule, rounded up to
 * granules.  All or nothing: the piece, joined to its neighbours and among the free ones, or NULL.
 */
static struct vt_piece *map_front(struct vt_pools *pools, struct vt_piece *piece,
				  uint64_t size_bytes)
{
	uint64_t granule = piece->run->granule_bytes;
	uint64_t bytes = (size_bytes + granule - 1) / granule * granule;
	uint64_t address = piece->address;

	if (vt_card_charge(pools->card, bytes))
		return NULL;
	vt_pools_remove(piece);
	if (bytes < piece->size_bytes) {
		struct vt_piece *rest = piece;

		piece = vt_pools_split(pools, rest, bytes);
		vt_pools_insert(rest);
	}
	piece->is_mapped = 1;
	vt_pools_merge(pools, piece);
	vt_pools_insert(piece);
	for (uint64_t done = 0; done < bytes; done += granule)
		vt_pools_note(pools, VT_SEGMENT_MAP, address + done, granule);
	return piece;
}

struct vt_piece *vt_expandable_grow(struct vt_pools *pools, struct vt_pool *pool, uint32_t stream,
				    uint64_t size_bytes)
{
	struct vt_piece *piece = find_room(pools, pool, stream, size_bytes);

	while (piece && !(piece->is_mapped && piece->size_bytes >= size_bytes)) {
		struct vt_piece *more = piece->is_mapped ? piece->next : piece;
		uint64_t missing = size_bytes - (piece->is_mapped ? piece->size_bytes : 0);

		if (!more)
			return NULL; /* more than the whole device and its eighth */
		if (missing > more->size_bytes)
			missing = more->size_bytes;
		piece = map_front(pools, more, missing);
	}
	if (piece)
		vt_pools_remove(piece);
	return piece;
}

static void run_free(struct vt_pools *pools, struct vt_piece *piece)
{
	struct vt_segment_run *run = piece->run;

	for (size_t i = 0; i < pools->runs.len; i++)
		if (pools->runs.items[i] == run) {
			pools->runs.items[i] = pools->runs.items[--pools->runs.len];
			break;
		}
	vt_card_unreserve(pools->card, run->address, run->size_bytes);
	free(run);
	vt_pools_remove(piece);
	vt_pools_piece_free(pools, piece);
}

void vt_expandable_shrink(struct vt_pools *pools, struct vt_piece *piece)
{
	uint64_t granule = piece->run->granule_bytes, base = piece->run->address;
	uint64_t offset = piece->address - base, end = offset + piece->size_bytes;
	uint64_t first = (offset + granule - 1) / granule * granule, last = end / granule * granule;

	if (first >= last)
		return;
	vt_pools_remove(piece);
	if (first > offset)
		vt_pools_insert(vt_pools_split(pools, piece, first - offset));
	if (end > last) {
		struct vt_piece *rest = piece;

		piece = vt_pools_split(pools, rest, last - first);
		vt_pools_insert(rest);
	}
	piece->is_mapped = 0;
	vt_pools_merge(pools, piece);
	vt_pools_insert(piece);
	vt_card_discharge(pools->card, last - first);
	for (uint64_t at = first; at < last; at += granule)
		vt_pools_note(pools, VT_SEGMENT_UNMAP, base + at, granule);
	if (!piece->previous && !piece->next)
		run_free(pools, piece);
}
