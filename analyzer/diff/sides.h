/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SIDES_H
#define VT_ANALYZER_SIDES_H

/*
 * One of two recordings that are compared, down to what is compared: per device the books of one
 * moment and the blocks that are live then.  What a recording takes in memory is given back before
 * the other one is read.
 */

#include <stdint.h>

#include "analyzer/analysis/books.h"
#include "analyzer/diff/changes.h"

struct vt_sides_options {
	const char *rules; /* NULL: built in */
	const char *when;  /* attribution/moments.h */
	int device;        /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	enum vt_changes_by by;
	int has_all_frames;
};

/* One device on which memory was recorded. */
struct vt_side_device {
	int device;
	int64_t event; /* the moment */
	struct vt_books books;
	struct vt_changes_live live;
	/* Of the whole run, whatever moment is looked at. */
	uint64_t peak_bytes;	       /* device use, with the context */
	uint64_t most_allocated_bytes; /* vt_model_most_allocated */
	char *doing;		       /* "step 2, backward"; NULL: not known */
	uint64_t noise_bytes;	       /* how far the peaks of equal steps lie apart */
	/* How large a segment is that a framework's allocator takes for small requests; 0: none. */
	uint64_t segment_bytes;
};

struct vt_side {
	/*
	 * Its database, texts, frames and rules; of the allocations only those that are live at the
	 * moments; no timeline, stages and facts.
	 */
	struct vt_analysis analysis;
	struct vt_describe describe;
	struct vt_side_device *devices;
	uint32_t nr_devices;
	int is_unfinished; /* the run did not end well, or its recording is of a moment */
	int has_failed;	   /* by an error or a signal */
};

/* 0, or -1 with `diag` filled: not readable, no such moment.  vt_sides_close in both cases. */
int vt_sides_open(struct vt_side *side, const char *path, const struct vt_sides_options *options,
		  struct vt_diag *diag);
void vt_sides_close(struct vt_side *side);

const struct vt_side_device *vt_sides_device(const struct vt_side *side, int device); /* or NULL */

#endif
