/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STREAMS_H
#define VT_ANALYZER_STREAMS_H

/*
 * Which segments belong to different streams.  Where a recording has no streams for blocks, the
 * allocator's choice tells: it takes the best fit, so where a better one was free and was not
 * taken, that was another stream's (or another private pool's, which is as closed).  Segments that
 * nothing tells apart are put into one stream.
 *
 * A stream here is a number; 0 is the default stream, or the one that most is known of.
 */

#include "analyzer/replay/tape.h"

/* Fills vt_tape_segment.stream; returns how many streams that makes. */
uint32_t vt_streams_find(struct vt_tape *tape);

#endif
