/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FREE_SET_H
#define VT_ANALYZER_FREE_SET_H

/*
 * The pieces of segments, and an ordered set of those that are free: by stream, then size, then
 * address, or by stream and address only.  A skip list whose links live in the pieces: a piece is
 * in one set at most.  The order is the allocator's own (best fit takes the first that is large
 * enough), so that walks and ties come out as they do there.
 */

#include <stdint.h>

/* Enough for 4^11 free pieces at one link in four. */
#define VT_FREE_SET_LEVELS 12
#define VT_PIECE_NOBODY    UINT32_MAX

struct vt_segment_run;

/* What a search reads lies in the first 64 bytes, a line of the processor's cache. */
struct vt_piece {
	_Alignas(64) uint64_t address;
	uint64_t size_bytes;
	uint32_t stream;
	uint8_t is_allocated;
	uint8_t is_mapped;  /* 0: address space of an expandable segment, without memory */
	uint8_t level;
	struct vt_piece **link; /* the one that leads to it on the lowest level */
	struct vt_piece *links[VT_FREE_SET_LEVELS];
	struct vt_piece *previous; /* neighbours in the same segment */
	struct vt_piece *next;
	struct vt_segment_run *run; /* its expandable segment, or NULL */
	struct vt_pool *pool;
	int64_t age_base; /* searches of the pool when it became free */
	uint32_t holder;  /* what the caller says lives in it; VT_PIECE_NOBODY */
	uint32_t segment; /* the caller's number of the segment */
};

struct vt_free_set {
	struct vt_piece *heads[VT_FREE_SET_LEVELS];
	int nr_levels; /* that were ever used */
	uint32_t len;
	uint32_t random;
	uint8_t is_by_address;
};

void vt_free_set_init(struct vt_free_set *set, int is_by_address);
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
	return set->heads[0];
}

static inline struct vt_piece *vt_free_set_next(const struct vt_piece *piece)
{
	return piece->links[0];
}

#endif
