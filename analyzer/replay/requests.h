/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REQUESTS_H
#define VT_ANALYZER_REQUESTS_H

/*
 * The sizes that were asked for.  The recorder knows them of all requests of 512 bytes and more;
 * smaller ones are their blocks, which have no tail.
 *
 * Older recordings have the sizes of blocks only, and a block may include a tail that was not worth
 * cutting off: up to 1 MiB of large ones, more under max_split_size_mb.  Where a remainder was cut
 * off, the size is the rounded request; where not, it is taken from a storage that the probe saw
 * there, from another request of the same place in the program whose size is known and could have
 * been this one's, or else from the block, tail included.
 */

#include "analyzer/replay/trace.h"

struct vt_requests {
	uint32_t nr_known;   /* recorded, cut exactly, or seen by the probe */
	uint32_t nr_likely;  /* from the same place */
	uint32_t nr_blocks;  /* the block's own size: an upper bound */
	uint64_t tail_bytes; /* at most this much of the last ones was not asked for, each once */
};

/* Fills vt_trace.guessed_bytes of the takes where the recorder did not know. */
void vt_requests_find(struct vt_requests *requests, struct vt_trace *trace);

#endif
