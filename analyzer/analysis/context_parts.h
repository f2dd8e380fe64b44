/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONTEXT_PARTS_H
#define VT_ANALYZER_CONTEXT_PARTS_H

/*
 * The context of a device, split into what it had when it was first measured and what came with
 * modules, libraries and limits since.  No driver call says how much one of these takes: a part is
 * what the context grew by between two measurements, and belongs to what was loaded between them.
 *
 * Measurements are those of samples.h: NVML's, and the driver's word, whose difference is counted
 * here.  Where NVML does not distinguish processes others' growth is in the parts.
 */

#include "analyzer/model/model.h"

struct vt_context_part {
	int64_t bytes;         /* negative: it shrank */
	uint32_t nr_loads;     /* of modules and libraries; 0 with no limits: none was seen */
	uint32_t nr_limits;    /* that were set */
	uint32_t nr_places;    /* different stacks of these */
	uint32_t python_stack; /* of the first one */
	uint32_t native_stack;
};

struct vt_context_limit {
	uint64_t value; /* in force at the moment */
	uint64_t which; /* CUlimit */
	uint32_t python_stack;
	uint32_t native_stack;
};

VT_VECTOR_DECLARE(vt_context_part_list, struct vt_context_part);
VT_VECTOR_DECLARE(vt_context_limit_list, struct vt_context_limit);

struct vt_context_parts {
	int64_t total_bytes; /* the first and all parts */
	int64_t first_bytes;
	struct vt_context_part_list parts; /* by bytes, the most first */
	struct vt_context_limit_list limits;
	uint32_t nr_unmeasured; /* loads after the last measurement */
	uint8_t is_known;       /* it was measured */
	uint8_t has_others;     /* other processes are distinguished */
};

/* Up to that time, since the start of the recording; vt_samples_find() has been called. */
void vt_context_parts_find(struct vt_context_parts *parts, const struct vt_model *model, int device,
			   int64_t time_ns);
void vt_context_parts_release(struct vt_context_parts *parts);

#endif
