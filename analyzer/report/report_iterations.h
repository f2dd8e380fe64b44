/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_ITERATIONS_H
#define VT_ANALYZER_REPORT_ITERATIONS_H

/*
 * What a program does again and again: training steps with their micro-batches, generations with
 * their decode steps, calls of a module where nothing is trained.
 */

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"

/* What happened while something ran that is counted: a step, a micro-batch, a call of a module. */
struct vt_report_iteration {
	uint64_t peak_bytes;	    /* of what has an owner */
	uint64_t peak_device_bytes; /* with cached bytes and the context */
	uint64_t end_bytes;	    /* allocated */
};

struct vt_report_step {
	uint32_t index;
	int device;
	struct vt_report_iteration iteration;
	struct vt_report_iteration *micro_batches;
	uint32_t nr_micro_batches;
	int is_complete;
};

/* Calls of one module in a row, on one device: decode steps, or requests. */
struct vt_report_calls {
	const char *module; /* class; NULL: unknown */
	int device;
	uint32_t generation; /* from 1; 0: these are no decode steps */
	struct vt_report_iteration prefill;
	struct vt_report_iteration *iterations;
	uint32_t nr_iterations;
	int has_growth;
	int64_t growth_bytes; /* that stay allocated per call */
};

/* What the first step left on a device, which the others find: books at its begin and its end. */
struct vt_report_first_step {
	int device;
	struct vt_books before;
	struct vt_books after;
};

struct vt_report_iterations {
	struct vt_report_step *steps; /* device by device */
	uint32_t nr_steps;
	struct vt_report_first_step *first_steps; /* where there is a second to compare with */
	uint32_t nr_first_steps;
	struct vt_report_calls *calls;
	uint32_t nr_calls;
};

void vt_report_iterations_init(struct vt_report_iterations *iterations,
			       struct vt_analysis *analysis,
			       const struct vt_device *const *devices, uint32_t nr_devices);
void vt_report_iterations_release(struct vt_report_iterations *iterations);

/* Evaluation and generation between training steps are no part of what a step takes. */
int vt_report_iterations_is_trained_in(uint8_t stage);

/* Bytes that remain per training step of one device; returns 0 where there are too few steps. */
int vt_report_iterations_step_growth(const struct vt_report_iterations *iterations, int device,
				     int64_t *bytes);

#endif
