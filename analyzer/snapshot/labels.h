/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LABELS_H
#define VT_ANALYZER_LABELS_H

/*
 * What a snapshot says of a block beside its place in the program, as rows that the rules ask for:
 *
 *  L1  "owner" and "user_metadata" of vtrace's own export: whose it is, with the name behind it.
 *  L2  "category", as PyTorch's profiler and other tools write it.
 *  L3  "user_metadata" of torch.cuda.memory._set_memory_metadata() and "compile_context" are ranges
 *      that the program was in: the first before that of an annotation, the second behind it.
 *  L4  What _annotate_tensor() adds later (an entry "annotate") is a name of the block.
 */

#include "analyzer/snapshot/stacks.h"
#include "analyzer/snapshot/writer.h"

/* Of the block that the last event made.  0, or -1 with `diag` filled. */
int vt_snapshot_labels_write(const struct vt_snapshot_labels *labels,
			     struct vt_snapshot_stacks *stacks, struct vt_writer *writer,
			     const struct vt_event_record *block, struct vt_diag *diag);

/* The same of what lies at the address of an entry "annotate". */
int vt_snapshot_labels_annotate(const struct vt_snapshot_entry *entry,
				struct vt_snapshot_stacks *stacks, struct vt_writer *writer,
				int device, struct vt_diag *diag);

/* The range, as a string's id; `annotation` is the innermost open one, 0: none.  0 or -1. */
int vt_snapshot_labels_scope(const struct vt_snapshot_labels *labels,
			     struct vt_snapshot_stacks *stacks, uint32_t annotation,
			     uint32_t *scope);

#endif
