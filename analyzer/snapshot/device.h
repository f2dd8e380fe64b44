/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SNAPSHOT_DEVICE_H
#define VT_ANALYZER_SNAPSHOT_DEVICE_H

/*
 * What PyTorch's allocator has on one device while its trace is followed: which blocks are live and
 * how large they are, what its segments are made of, its totals.  Turns entries into events.
 */

#include "analyzer/snapshot/labels.h"
#include "analyzer/snapshot/block_sizes.h"
#include "analyzer/snapshot/stacks.h"
#include "analyzer/snapshot/start.h"
#include "analyzer/snapshot/writer.h"

/* Memory that an expandable segment was given at once, at the driver. */
struct vt_device_piece {
	uint64_t start;
	uint64_t end;
	uint64_t handle;
	uint64_t pool; /* private; 0: none */
};

/* What the devices of a snapshot share. */
struct vt_device_shared {
	struct vt_snapshot_input *input;
	struct vt_snapshot_stacks *stacks;
	struct vt_writer *writer;
	const struct vt_settings *settings;
	uint32_t scope; /* string: the innermost open annotation, 0: none */
	uint64_t nr_pieces;
};

struct vt_snapshot_device {
	struct vt_device_shared *shared; /* borrowed */
	int id;
	struct vt_start start;
	struct vt_block_sizes sizes;
	struct vt_map live; /* address -> size of the block */
	struct vt_map private; /* address of a segment -> its private pool */
	VT_VECTOR(struct vt_device_piece) pieces; /* by address */
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
	uint64_t most_bytes; /* reserved, and free on the device, when a request failed */
};

/* Finds what was there when the trace began.  0, or -1 with `diag` filled; release always. */
int vt_snapshot_device_init(struct vt_snapshot_device *device, int id,
			    struct vt_device_shared *shared, struct vt_diag *diag);
void vt_snapshot_device_release(struct vt_snapshot_device *device);

/* Writes that as events.  0, or -1 with `diag` filled. */
int vt_snapshot_device_begin(struct vt_snapshot_device *device, struct vt_diag *diag);

/* Writes what is known of the device itself, last.  0, or -1 with `diag` filled. */
int vt_snapshot_device_end(struct vt_snapshot_device *device, struct vt_diag *diag);

/* Writes one entry.  0, or -1 with `diag` filled. */
int vt_snapshot_device_take(struct vt_snapshot_device *device,
			    const struct vt_snapshot_entry *entry, struct vt_diag *diag);

#endif
