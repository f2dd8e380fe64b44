/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CAPTURES_H
#define VT_ANALYZER_CAPTURES_H

/*
 * Which segments belong to private pools of CUDA graphs.  PyTorch gives a graph's capture blocks
 * from a separate pool, and keeps that pool's memory at its addresses as long as the graph can be
 * replayed: what is free in it is not cached, empty_cache returns none of it.
 *
 *  C1  A segment is a pool's if the thread that captures got a block from it during the capture:
 *      from the usual segments that stream gets nothing.
 *  C2  So is one that was itself allocated during a capture and never gave a block to anybody
 *      outside of one: other threads (those of the backward pass) allocate for that stream too.
 *  C3  Captures that got blocks from one segment share a pool; its number is that of the first.
 *  C4  A pool lives until the last graph of its captures is destroyed, a capture's graph and what
 *      was instantiated from it.  After that its free memory is cached like any other.
 *  C5  Where the recording says which pool a segment is of (a snapshot: an event that binds it),
 *      it is that one; the pool lives until an event unbinds it.
 */

#include "analyzer/model/model.h"
#include "analyzer/model/timeline.h"

/* Fills vt_model.captures and vt_segment.capture; needs what containers.h found. */
void vt_captures_find(struct vt_model *model);

/* The event after which no graph needs that pool (vt_segment.capture) any more; VT_NEVER: none. */
int64_t vt_captures_pool_gone(const struct vt_model *model, uint32_t pool);

/* Whether the segment is kept for the replay of a graph after that event. */
int vt_captures_is_private(const struct vt_model *model, const struct vt_segment *segment,
			   int64_t event);

#endif
