/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BLOCK_SIZES_H
#define VT_ANALYZER_BLOCK_SIZES_H

/*
 * How large the blocks are that requests became: a trace says what was asked for and where it was
 * put.  A block of a large segment takes the rest of the free piece that it is cut from where that
 * is not worth cutting off (at most 1 MiB, or by max_split_size_mb); the piece ends where the next
 * block begins that is not free.  Everywhere else the size is the request, rounded.
 */

#include "analyzer/replay/settings.h"
#include "analyzer/snapshot/ranges.h"

struct vt_sized_segment {
	uint64_t start;
	uint64_t end;
	struct vt_ranges blocks; /* not free; each a range, even where they touch */
};

struct vt_block_sizes {
	const struct vt_settings *settings;          /* borrowed */
	VT_VECTOR(struct vt_sized_segment) segments; /* by address; none that is expandable */
};

void vt_block_sizes_release(struct vt_block_sizes *sizes);

void vt_block_sizes_add_segment(struct vt_block_sizes *sizes, uint64_t address,
				uint64_t size_bytes);
void vt_block_sizes_remove_segment(struct vt_block_sizes *sizes, uint64_t address);

/*
 * The size of the block that a request becomes that is put there.  vt_block_sizes_add: it is there,
 * until vt_block_sizes_remove.
 */
uint64_t vt_block_sizes_find(const struct vt_block_sizes *sizes, uint64_t address,
			     uint64_t requested_bytes);
void vt_block_sizes_add(struct vt_block_sizes *sizes, uint64_t address, uint64_t size_bytes);
void vt_block_sizes_remove(struct vt_block_sizes *sizes, uint64_t address);

#endif
