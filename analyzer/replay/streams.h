/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STREAMS_H
#define VT_ANALYZER_STREAMS_H

/*
 * Which segments belong to different streams.  The recorder knows the stream of each block, older
 * ones do not.  Within what is recorded as one stream the allocator's choice tells more: it takes
 * the best fit, so where a better one was free and was not taken, that was another stream's, in a
 * closed pool of its own (a MemPool), or still awaited another stream (record_stream), all of which
 * come to the same for a request.  Segments that nothing tells apart are put into one stream.
 *
 * A stream here is a number; 0 is the default stream, or the one that most is known of.
 */

#include "analyzer/replay/trace.h"

/* Fills vt_trace_segment.stream; returns how many streams that makes. */
uint32_t vt_streams_find(struct vt_trace *trace);
/* The same where nothing has to be told apart, as the recorded streams explain all choices. */
uint32_t vt_streams_take(struct vt_trace *trace);

#endif
