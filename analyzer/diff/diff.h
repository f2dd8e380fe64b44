/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DIFF_H
#define VT_ANALYZER_DIFF_H

/*
 * Two recordings side by side, at one moment of each: what differs in the runs themselves, then
 * owners, then the places that made the difference.  Computed once, printed as text, Markdown or
 * JSON.
 */

#include <stdint.h>
#include <stdio.h>

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
	int is_rest; /* no allocation's owner: cached, context, other processes */
};

struct vt_diff_device {
	int device; /* of the new run */
	/* Borrowed; empty where nothing was recorded on it. */
	const struct vt_side_device *sides[VT_DIFF_SIDES];
	int has_books[VT_DIFF_SIDES];
	/* As of either side. */
	uint64_t peak_bytes[VT_DIFF_SIDES];
	uint64_t most_allocated_bytes[VT_DIFF_SIDES];
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
	struct vt_side sides[VT_DIFF_SIDES];
	struct vt_runs runs;
	struct vt_diff_device *devices;
	uint32_t nr_devices;
};

/*
 * Reads the recordings, one after the other.  Returns 0, or -1 with `diag` filled: not readable, no
 * such moment in one of them.  vt_diff_release in both cases; `options` must outlive it.
 */
int vt_diff_init(struct vt_diff *diff, const char *base, const char *new,
		 const struct vt_diff_options *options, struct vt_diag *diag);
void vt_diff_release(struct vt_diff *diff);

/*
 * That a run did not end well, and what figures are worth then; NULL: it did.  To be freed.  The
 * new run comes first: its lower figures look like an improvement.
 */
char *vt_diff_incomplete(const struct vt_diff *diff, int side);
/* Whether the new run failed where the base did not. */
int vt_diff_is_new_failed(const struct vt_diff *diff);

/* Whether any owner or place differs by more than the noise. */
int vt_diff_is_different(const struct vt_diff *diff);
/* The same of one pair of figures. */
int vt_diff_is_change(const struct vt_diff_device *device, const uint64_t *bytes);

void vt_diff_text_print(struct vt_diff *diff, FILE *out);
/* Links lead to `repository` at `revision`; NULL: as the variables of CI say (source_links.h). */
void vt_diff_markdown_print(struct vt_diff *diff, const char *repository, const char *revision,
			    FILE *out);

#endif
