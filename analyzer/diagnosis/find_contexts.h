/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_CONTEXTS_H
#define VT_ANALYZER_FIND_CONTEXTS_H

/*
 * Findings about contexts that hold hundreds of MiB for hardly any memory: on a device other than
 * the one that the process works on, or of a worker process.  They need no allocation, and so are
 * of the run and not of a device's peak.
 */

#include "analyzer/diagnosis/finding_context.h"

/*
 * A device on which the process has a context and next to nothing else.  Bytes that are not known
 * are 0.
 */
struct vt_idle_context {
	int16_t device;
	int16_t works_on;      /* the device with most of the process's memory; -1: none */
	uint8_t is_like_other; /* the size of the context is that of the other device's */
	uint64_t context_bytes;
	uint64_t used_bytes;      /* the most that the process had from the driver there */
	uint64_t allocated_bytes; /* the most in blocks, or without */
	uint32_t python_stack;    /* where the context was made; else where it first allocated */
	uint32_t native_stack;
};

VT_VECTOR_DECLARE(vt_idle_contexts, struct vt_idle_context);

/* Devices other than the one that the process works on; vt_vector_release(). */
void vt_find_contexts_elsewhere(const struct vt_model *model, struct vt_idle_contexts *contexts);

/* The program's line that made it, a native function where there is no Python; NULL: not known. */
char *vt_find_contexts_line(const struct vt_describe *describe,
			    const struct vt_idle_context *context);

/* Of one device, or VT_WHEN_ALL_DEVICES. */
void vt_find_contexts_detect(struct vt_findings *findings, const struct vt_facts *facts,
			     const struct vt_describe *describe, int device);

#endif
