/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_CACHE_H
#define VT_ANALYZER_FIND_CACHE_H

/*
 * The findings about what PyTorch's allocator reserved in vain, by replay.
 */

#include "analyzer/diagnosis/finding_context.h"

/* What can be played before stages are known; vt_find_cache_detect is quicker then. */
void vt_find_cache_prepare(struct vt_traces *traces, int device);

/* What is played beside each other: none changes the trace. */
enum vt_cache_try {
	VT_CACHE_EXPANDABLE,
	VT_CACHE_AFTER_LOAD,
	VT_CACHE_UNROUNDED,
	VT_NR_CACHE_TRIES
};

struct vt_cache_replays {
	struct vt_trace_ready *ready; /* NULL: nothing to play */
	const struct vt_stages *stages;
	struct vt_replay replays[VT_NR_CACHE_TRIES];
	uint8_t is_tried[VT_NR_CACHE_TRIES];
};

/*
 * In three parts: the second may run beside what asks for owners, and neither for traces; the third
 * adds what was found.
 */
void vt_find_cache_begin(struct vt_cache_replays *cache, const struct vt_finding_context *context);
void vt_find_cache_play(struct vt_cache_replays *cache);
void vt_find_cache_detect(struct vt_finding_context *context, const struct vt_cache_replays *cache);

#endif
