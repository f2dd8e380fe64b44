/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OOM_REMEDIES_H
#define VT_ANALYZER_OOM_REMEDIES_H

/*
 * What a request that failed would have met with other settings of the allocator: the recording
 * replayed up to and with that request.  What the program would have asked for afterwards is not
 * known.
 */

#include "analyzer/replay/traces.h"

#define VT_REMEDIES(X)                                                                             \
	X(EXPANDABLE, "expandable_segments:True")                                                  \
	X(MAX_SPLIT, "max_split_size_mb")                                                          \
	X(GC, "garbage_collection_threshold")                                                      \
	X(EMPTY_CACHE, "empty_cache() before it")

#define VT_REMEDY_ENUM(name, text) VT_REMEDY_##name,
enum vt_oom_remedy_kind { VT_REMEDIES(VT_REMEDY_ENUM) VT_NR_REMEDIES };
#undef VT_REMEDY_ENUM

struct vt_oom_remedy {
	char text[96];           /* as PYTORCH_CUDA_ALLOC_CONF has it, where it is a setting */
	uint64_t reserved_bytes; /* the most that was reserved up to there */
	int64_t failed_event;    /* of a request before it that would have failed; 0: none */
	uint8_t is_on;           /* it was set already, and is not played */
	uint8_t is_served;
};

struct vt_oom_remedies {
	struct vt_replay recorded; /* with the recorded settings, compared up to the request */
	struct vt_oom_remedy items[VT_NR_REMEDIES];
};

/*
 * The part of a trace that ends with the request that failed (`oom` is an index into
 * vt_model.ooms), valid as long as the trace and not to be released.  Returns 0, or -1 where the
 * trace has no such request.
 */
int vt_oom_remedies_cut(struct vt_trace *cut, const struct vt_trace *trace, uint32_t oom);

/* `oom` must be the last on the trace. */
void vt_oom_remedies_find(struct vt_oom_remedies *remedies, struct vt_trace_ready *ready,
			  uint32_t oom);

#endif
