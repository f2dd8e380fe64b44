/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FREE_SET_H
#define VT_ANALYZER_FREE_SET_H

/*
 * The pieces of segments, and an ordered set of those that are free: by stream, then size, then
 * address, or by stream and address only.  Sorted chunks of keys, searched by halving: most sets
 * have one.  The order is the allocator's own (best fit takes the first that is large
 * enough), so that walks and ties come out as they do there; a walk follows links in the pieces:
 * a piece is in one set at most, and its key does not change while it is.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

#define VT_PIECE_NOBODY UINT32_MAX

struct vt_segment_run;

struct vt_piece {
	uint64_t address;
	uint64_t size_bytes;
	uint32_t stream;
	uint8_t is_allocated;
	uint8_t is_mapped;      /* 0: address space of an expandable segment, without memory */
	struct vt_piece *lower; /* neighbours in the set's order */
	struct vt_piece *higher;
	struct vt_piece *previous; /* neighbours in the same segment */
	struct vt_piece *next;
	struct vt_segment_run *run; /* its expandable segment, or NULL */
	struct vt_pool *pool;
	int64_t age_base; /* searches of the pool when it became free */
	uint32_t holder;  /* what the caller says lives in it; VT_PIECE_NOBODY */
	uint32_t segment; /* the caller's number of the segment */
	uint32_t seen_at; /* where the set last saw it in its chunk: a hint */
};

struct vt_free_chunk;

struct vt_free_set {
	VT_VECTOR(struct vt_free_chunk *) chunks; /* none is empty */
	struct vt_piece *lowest;
	struct vt_piece *highest;
	uint8_t is_by_address;
};

void vt_free_set_init(struct vt_free_set *set, int is_by_address);
/* Leaves the pieces to their owner. */
void vt_free_set_release(struct vt_free_set *set);
/* In front of those with the same key. */
void vt_free_set_insert(struct vt_free_set *set, struct vt_piece *piece);
void vt_free_set_remove(struct vt_free_set *set, struct vt_piece *piece);

/* The first that is not below (stream, size, address), NULL at the end. */
struct vt_piece *vt_free_set_from(const struct vt_free_set *set, uint32_t stream,
				  uint64_t size_bytes, uint64_t address);
/* The last that is below it, NULL where there is none. */
struct vt_piece *vt_free_set_before(const struct vt_free_set *set, uint32_t stream,
				    uint64_t size_bytes, uint64_t address);

static inline struct vt_piece *vt_free_set_first(const struct vt_free_set *set)
{
	return set->lowest;
}

static inline struct vt_piece *vt_free_set_next(const struct vt_piece *piece)
{
	return piece->higher;
}

#endif
