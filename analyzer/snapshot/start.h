/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_START_H
#define VT_ANALYZER_START_H

/*
 * What was there on a device when its trace began: what the trace frees without having made it, and
 * what is there at the end (the segments) without the trace having made it.
 */

#include "analyzer/snapshot/entries.h"
#include "analyzer/snapshot/ranges.h"

struct vt_start_segment {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t pool; /* as of an entry */
	vt_value frames;
	int is_expandable;
};

/* Where the memory of private pools is at the end: before 2.14 entries do not have their pool. */
struct vt_start_pool {
	uint64_t start;
	uint64_t end;
	uint64_t pool;
	uint32_t made; /* the entry that made the segment; UINT32_MAX: any, it grows where it is */
};

struct vt_start_block {
	uint64_t address;
	uint64_t size_bytes; /* 0: not known, it was gone at the end */
	uint64_t requested_bytes;
	uint64_t stream;
	vt_value frames, forward_frames;
	struct vt_snapshot_labels labels;
	int is_pending; /* freed, and waited for by another stream */
};

struct vt_start {
	VT_VECTOR(struct vt_start_segment) segments; /* by address */
	VT_VECTOR(struct vt_start_block) blocks;     /* by address */
	VT_VECTOR(struct vt_start_pool) pools;	     /* by address */
	struct vt_ranges expandable; /* wherever one of them was mapped at any time */
	uint64_t time_us; /* of the first entry; 0: none has a time */
	int has_completed; /* the trace has entries of completed frees */
};

/* 0, or -1 with `diag` filled; vt_start_release in both cases. */
int vt_start_find(struct vt_start *start, struct vt_snapshot_input *input, uint32_t device,
		  struct vt_diag *diag);
void vt_start_release(struct vt_start *start);

/* The private pool of what an entry got from the driver; 0: none, or not known. */
uint64_t vt_start_pool_of(const struct vt_start *start, const struct vt_snapshot_entry *entry);

#endif
