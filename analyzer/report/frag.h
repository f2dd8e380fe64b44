/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FRAG_H
#define VT_ANALYZER_FRAG_H

/*
 * Fragmentation of PyTorch's caching allocator in a recorded run: over time, and at one moment in
 * full.
 */

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/model/describe.h"
#include "analyzer/replay/layout.h"

struct vt_frag_options {
	const char *when; /* NULL: the last failed request, else the peak of the device */
	int device;
	uint64_t request_bytes; /* 0: the failed request, else the largest of the run */
	unsigned top;           /* segments and pinning places to show */
	int has_all_frames;
};

struct vt_frag_sample {
	int64_t event;
	int64_t time_ns;
	struct vt_layout_totals totals;
};

/* Live blocks of one place and owner that pin free bytes. */
struct vt_frag_pin {
	uint64_t place;
	uint64_t pinned_bytes;
	uint64_t size_bytes;
	uint32_t blocks;
	uint32_t allocation; /* the first of them */
	uint16_t owner;
};

struct vt_frag_device {
	struct vt_trace_ready *ready; /* the analysis's */
	const struct vt_trace *trace;        /* of it */
	struct vt_follow follow; /* at the moment looked at */
	struct vt_layout layout;
	struct vt_layout_account account;
	uint8_t is_laid_out;     /* at `event`, which can wait for stages */
	uint32_t request_stream;
	int64_t event;
	uint64_t peak_reserved_bytes; /* of the whole run */
	uint64_t peak_allocated_bytes;
	uint64_t peak_requested_bytes; /* the least that any allocator could do with */
	uint64_t packed_bytes; /* ... that one which knew the run did with; 0: too many blocks */
	uint64_t rounding_bytes; /* of the live blocks at the moment: requests rounded up */
	uint64_t tail_bytes;     /* ... what was not worth cutting off, as far as known */
	VT_VECTOR(struct vt_frag_sample) samples;
	VT_VECTOR(struct vt_frag_pin) pins; /* largest first */
};

struct vt_frag {
	struct vt_analysis *analysis;
	struct vt_describe describe;
	struct vt_frag_options options;
	struct vt_frag_device *devices;
	uint32_t nr_devices;
	uint8_t is_empty; /* there was nothing to lay out, and `diag` says why */
	uint8_t has_failed;
	struct vt_diag failed; /* of vt_frag_begin */
};

/*
 * In two parts: what needs no owner, may run beside what finds them (analysis.h), and keeps what
 * failed for the other.  That returns 0, or -1 with `diag` filled; vt_frag_release in both cases,
 * and after the first part alone.
 */
void vt_frag_begin(struct vt_frag *frag, struct vt_analysis *analysis,
		   const struct vt_frag_options *options);
int vt_frag_finish(struct vt_frag *frag, struct vt_diag *diag);
/* Both. */
int vt_frag_init(struct vt_frag *frag, struct vt_analysis *analysis,
		 const struct vt_frag_options *options, struct vt_diag *diag);
void vt_frag_release(struct vt_frag *frag);

/* Peak allocated over peak reserved. */
double vt_frag_utilisation(const struct vt_frag_device *device);

void vt_frag_print_text(struct vt_frag *frag, FILE *out);
void vt_frag_print_json(struct vt_frag *frag, FILE *out);

#endif
