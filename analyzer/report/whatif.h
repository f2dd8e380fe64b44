/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WHATIF_H
#define VT_ANALYZER_WHATIF_H

/*
 * A recorded run played again to the model of PyTorch's caching allocator: with the recorded
 * settings, which shows how well the model knows this run, and with what was asked for.
 */

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/diagnosis/scaling.h"

/*
 * An owner and all below it, or a glob of owners; factor 0 leaves its blocks out.  Of several that
 * meet a block the first counts.
 */
struct vt_whatif_scale {
	const char *owner;
	double factor;
};

struct vt_whatif_options {
	int device;            /* VT_WHEN_ALL_DEVICES: each that has blocks */
	const char *settings;  /* in the place of the recorded ones; NULL: those */
	const char *changes;   /* on top, in the same language; NULL: none */
	uint64_t memory_bytes; /* of the device; 0: the recorded one's */
	const struct vt_whatif_scale *scales;
	size_t nr_scales;
	struct vt_scaling_size was; /* what was recorded; zero: as the inputs say */
	uint64_t batch;             /* rows, 0: as recorded */
	double batch_times;         /* or so many times the recorded ones; 0: as recorded */
};

/* What a scale, or the batch, met. */
struct vt_whatif_met {
	uint64_t bytes;
	uint32_t blocks;
};

struct vt_whatif_device {
	struct vt_trace_ready *ready; /* the analysis's */
	const struct vt_trace *trace;  /* of it */
	uint32_t nr_failed;	     /* requests, in the recording */
	const struct vt_replay *recorded; /* of it, compared with the recording */
	struct vt_settings settings;
	uint64_t capacity_bytes;
	struct vt_replay predicted;
	uint64_t scaled_bytes;     /* of the requests that the scales met */
	struct vt_whatif_met *met; /* by scale */
	struct vt_whatif_met met_batch; /* what follows the batch */
};

struct vt_whatif {
	struct vt_analysis *analysis;
	const struct vt_whatif_options *options; /* the caller's */
	struct vt_scalings scalings; /* where another batch is asked for */
	struct vt_scaling_size is;
	int is_resized;
	struct vt_whatif_device *devices;
	uint32_t nr_devices;
};

/*
 * What vt_whatif_init needs of the traces and can have without owners, made beside what finds them
 * (analysis.h).
 */
void vt_whatif_prepare(struct vt_analysis *analysis, int device);

/*
 * Returns 0, or -1 with `diag` filled; vt_whatif_release in both cases.  Without scales
 * and batch the analysis needs no owners.  `options` is read when printing, too.
 */
int vt_whatif_init(struct vt_whatif *whatif, struct vt_analysis *analysis,
		   const struct vt_whatif_options *options, struct vt_diag *diag);
void vt_whatif_release(struct vt_whatif *whatif);

void vt_whatif_print_text(const struct vt_whatif *whatif, FILE *out);
void vt_whatif_print_json(const struct vt_whatif *whatif, FILE *out);

#endif
