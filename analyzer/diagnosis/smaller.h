/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SMALLER_H
#define VT_ANALYZER_SMALLER_H

/*
 * The largest batch, or else the longest sequence, with which a request that failed would have been
 * served: the recording replayed up to it with everything scaled that grows with the batch.
 *
 * The batch is the first dimension that the inputs of the model share, the length the second of
 * those that are whole numbers (tokens); both as the probe saw them.  What grows with it is told by
 * owners; scores of attention grow with the square of the length.
 */

#include "analyzer/attribution/attribution.h"
#include "analyzer/replay/replay.h"

struct vt_smaller_trial;

struct vt_smaller {
	uint64_t batch; /* recorded; 0: not known, or not known what the request would be then */
	uint64_t length;
	uint64_t fits_batch;  /* 0: not even one row */
	uint64_t fits_length; /* 0: not tried (a smaller batch fits), or none of the lengths */
	uint8_t is_varying; /* the inputs of this request are not those seen: batch is 0 */
	uint8_t has_whole_step; /* steps of that batch ended before: all that one needs was seen */
	struct vt_smaller_trial *trial; /* what is to be played; NULL: nothing */
};

/*
 * `oom` must be on the trace.  In two parts: the first asks for owners; the second replays, asks
 * the trace alone and may run beside others who do.  Until then fits_batch and fits_length are 0.
 */
void vt_smaller_begin(struct vt_smaller *smaller, struct vt_attribution *attribution,
		      const struct vt_trace *trace, uint32_t oom);
void vt_smaller_play(struct vt_smaller *smaller);
void vt_smaller_release(struct vt_smaller *smaller);

#endif
