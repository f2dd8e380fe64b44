/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_COMPARED_H
#define VT_ANALYZER_COMPARED_H

/* What a comparison consists of (diff.h makes it), and which of its figures are changes. */

#include <stdint.h>

#include "analyzer/diff/changes.h"
#include "analyzer/diff/runs.h"
#include "analyzer/diff/sides.h"

struct vt_diff_options {
	const char *rules; /* NULL: built in */
	const char *when; /* attribution/moments.h */
	int device;       /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	const int *pair;  /* one device of either side, whatever their numbers; NULL: equal ones */
	enum vt_changes_by by;
	unsigned top; /* places to list */
	int is_exact;
	int has_all_frames;
};

/* An owner's bytes in both; the rest of the books ("cached/pinned", "context") is with them. */
struct vt_diff_owner {
	const char *owner; /* borrowed */
	uint64_t bytes[VT_DIFF_SIDES];
	uint64_t asked_bytes[VT_DIFF_SIDES]; /* as of its blocks */
	uint64_t noise_bytes; /* between the recordings of a side */
	int is_rest; /* no allocation's owner: cached, context, other processes */
};

struct vt_diff_device {
	int device; /* of the new run */
	int numbers[VT_DIFF_SIDES];
	/* Borrowed; empty where nothing was recorded on it. */
	const struct vt_side_device *sides[VT_DIFF_SIDES];
	int has_books[VT_DIFF_SIDES];
	/* As of either side. */
	uint64_t peak_bytes[VT_DIFF_SIDES];
	uint64_t most_allocated_bytes[VT_DIFF_SIDES];
	/* Between the recordings of a side; of use a segment more without more blocks, too. */
	uint64_t peak_noise_bytes;
	uint64_t allocated_noise_bytes;
	/* The most that recordings of a side differ by: of blocks or an owner, of use. */
	uint64_t spread_bytes;
	uint64_t used_spread_bytes;
	struct vt_diff_owner *owners; /* the largest difference first; the rest behind */
	uint32_t nr_owners;
	struct vt_changes changes;
	/*
	 * How far the peaks of equal steps of one run lie apart, the larger of both runs: a
	 * difference of that size says nothing.
	 */
	uint64_t noise_bytes;
};

struct vt_diff {
	const struct vt_diff_options *options;
	/* As they were given; of a recording against itself both are the same. */
	struct vt_side *recordings[VT_DIFF_SIDES];
	uint32_t nr_recordings[VT_DIFF_SIDES];
	struct vt_side *sides[VT_DIFF_SIDES]; /* of them: what represents each side */
	struct vt_runs runs;
	struct vt_diff_device *devices;
	uint32_t nr_devices;
};

/* How far apart a pair of figures lies. */
uint64_t vt_diff_magnitude(const uint64_t *bytes);
/* Whether a side has more than one recording. */
int vt_diff_has_several(const struct vt_diff *diff);
/* Whether any owner, place or the most in use differs by more than the noise. */
int vt_diff_is_different(const struct vt_diff *diff);
/* Whether an owner or a place of that device does. */
int vt_diff_is_block_change(const struct vt_diff_device *device);
/* The same of one pair of figures, whose recordings lie that far apart on either side. */
int vt_diff_is_change(const struct vt_diff_device *device, const uint64_t *bytes,
		      uint64_t noise_bytes);
int vt_diff_is_owner_change(const struct vt_diff_device *device,
			    const struct vt_diff_owner *owner);
int vt_diff_is_place_change(const struct vt_diff_device *device,
			    const struct vt_change *place);

#endif
