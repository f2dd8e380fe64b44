/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LAYOUT_H
#define VT_ANALYZER_LAYOUT_H

/*
 * The segments of a caching allocator at one moment of a recording: what is free, what of it could
 * go back to the driver, what is pinned there by which blocks, and what it is worth for a request.
 */

#include "analyzer/replay/follow.h"

struct vt_layout_totals {
	uint64_t reserved_bytes;
	uint64_t allocated_bytes;
	uint64_t cached_bytes; /* reserved - allocated */
	uint64_t free_bytes;   /* of cached: segments and granules that hold no block */
	uint64_t pinned_bytes; /* of cached: beside live blocks */
	uint64_t largest_free_bytes;
	uint32_t nr_free; /* free pieces */
	uint32_t nr_segments;
};

struct vt_layout_segment {
	uint32_t segment; /* index into the trace's */
	uint64_t mapped_bytes;
	uint64_t allocated_bytes;
	uint64_t free_bytes;
	uint64_t pinned_bytes;
	uint32_t nr_blocks;
	uint32_t nr_free;
};

/* Bytes that a live block keeps from going back; a gap's are divided among those that pin it. */
struct vt_layout_pin {
	uint32_t allocation;
	uint64_t bytes;
};

/* Every cached byte, by what keeps it from serving one request. */
struct vt_layout_account {
	uint64_t request_bytes;      /* rounded */
	uint64_t segment_bytes;      /* what a new segment for it would take */
	uint64_t serving_bytes;      /* pieces that would serve it */
	uint64_t other_pool_bytes;   /* small pieces for a large request, or the reverse */
	uint64_t other_stream_bytes; /* large enough, but another stream's */
	uint64_t private_pool_bytes; /* ... but of the pool of a CUDA graph */
	uint64_t too_small_bytes;
	uint64_t unsplittable_bytes; /* kept whole by max_split_size_mb */
	uint64_t device_free_bytes;  /* what the driver still has; UINT64_MAX: not known */
	uint64_t returnable_bytes;   /* of the above: empty_cache() would give it to the driver */
};

struct vt_layout {
	struct vt_layout_totals totals;
	VT_VECTOR(struct vt_layout_segment) segments; /* in the order in which they were taken */
	VT_VECTOR(struct vt_layout_pin) pins;
};

/* What lies where at this moment of `follow`; the totals alone where is_brief is set. */
void vt_layout_init(struct vt_layout *layout, const struct vt_follow *follow, int is_brief);
void vt_layout_release(struct vt_layout *layout);

/* `used_bytes` of the device at this moment, by this process. */
void vt_layout_account(struct vt_layout_account *account, const struct vt_follow *follow,
		       uint64_t request_bytes, uint32_t stream, uint64_t used_bytes);

#endif
