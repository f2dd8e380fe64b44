/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SNAPSHOT_SEGMENTS_H
#define VT_ANALYZER_SNAPSHOT_SEGMENTS_H

/*
 * "segments" of PyTorch's memory snapshot: what was held from the driver at a moment, and the
 * blocks and gaps in it.  Of an expandable segment each piece that has memory without a gap is one,
 * as in PyTorch.  Memory that has an owner and lies in no segment of PyTorch's allocator (NCCL's,
 * cuBLAS', of a program without PyTorch) is a segment with one block.
 */

#include "analyzer/export/snapshot_pickle.h"

/* Those of one device, each an item of `list`; `trace` NULL: PyTorch's allocator did nothing. */
void vt_snapshot_segments(struct vt_snapshot_pickle *p, struct vt_pickle_list *list, int device,
			  const struct vt_trace *trace);

/* Who allocated what begins at `event`; never NULL. */
const struct vt_caller *vt_snapshot_maker(const struct vt_model *model, int64_t event);

#endif
