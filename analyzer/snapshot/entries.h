/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ENTRIES_H
#define VT_ANALYZER_ENTRIES_H

/*
 * What PyTorch writes into a snapshot, from 1.13 to 2.15: the lists, and one entry of each as a
 * struct.  Keys that are not known are passed over; what a release does not write is 0.
 *
 *  E1  An entry that is there and is none (no dict, no address, sizes that cannot be) is an error
 *      that names its place.
 *  E2  How much is read is bounded by the unpacked length of the file, however often a list is
 *      referred to (vt_snapshot_visit).
 */

#include "analyzer/base/diag.h"
#include "analyzer/base/map.h"
#include "analyzer/snapshot/values.h"

/* Devices are numbered by 8 bits in PyTorch. */
#define VT_SNAPSHOT_MOST_DEVICES 128

/* Private pools have two numbers; one of these is made of them. */
#define VT_SNAPSHOT_POOL_BITS 24

/* Entries of device_traces; the word is PyTorch's. */
#define VT_SNAPSHOT_ACTIONS(X)                                                                     \
	X(ALLOC, "alloc")                                                                          \
	X(FREE_REQUESTED, "free_requested")                                                        \
	X(FREE_COMPLETED, "free_completed")                                                        \
	X(SEGMENT_ALLOC, "segment_alloc")                                                          \
	X(SEGMENT_FREE, "segment_free")                                                            \
	X(SEGMENT_MAP, "segment_map")                                                              \
	X(SEGMENT_UNMAP, "segment_unmap")                                                          \
	X(OOM, "oom")                                                                              \
	X(ANNOTATE, "annotate")                                                                    \
	X(OTHER, "")

enum vt_snapshot_action {
#define VT_SNAPSHOT_ACTION(name, text) VT_SNAPSHOT_##name,
	VT_SNAPSHOT_ACTIONS(VT_SNAPSHOT_ACTION)
#undef VT_SNAPSHOT_ACTION
	VT_SNAPSHOT_NR_ACTIONS
};

/* The keys of an entry of device_traces. */
enum vt_snapshot_key {
	VT_KEY_ACTION,
	VT_KEY_ADDR,
	VT_KEY_SIZE,
	VT_KEY_STREAM,
	VT_KEY_TIME,
	VT_KEY_FRAMES,
	VT_KEY_FORWARD_FRAMES,
	VT_KEY_METADATA,
	VT_KEY_CATEGORY,
	VT_KEY_OWNER,
	VT_KEY_REQUESTED,
	VT_KEY_COMPILE_CONTEXT,
	VT_KEY_DEVICE_FREE,
	VT_KEY_POOL,
	VT_SNAPSHOT_NR_KEYS
};

/* What a snapshot says of a block beside its place in the program. */
struct vt_snapshot_labels {
	vt_value category;
	vt_value owner; /* vtrace's: the part of the metadata that is added up */
	vt_value metadata;
	vt_value compile_context; /* "N/A": outside of compiled code */
};

extern const struct vt_snapshot_labels vt_snapshot_no_labels;

struct vt_snapshot_entry {
	enum vt_snapshot_action action;
	uint32_t index;
	uint64_t address;
	uint64_t size_bytes;      /* of blocks: requested, where PyTorch wrote the entry */
	uint64_t requested_bytes; /* of blocks; vtrace writes both sizes */
	uint64_t stream;
	uint64_t time_us; /* 0: not written */
	uint64_t device_free_bytes;
	uint64_t pool; /* a private pool's number; 0: the usual one, or not written */
	vt_value frames, forward_frames;
	struct vt_snapshot_labels labels;
};

struct vt_snapshot_segment {
	int device;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t stream;
	uint64_t pool; /* as of an entry */
	vt_value frames;
	struct vt_value_list blocks;
	int is_expandable;
};

enum vt_snapshot_state { VT_SNAPSHOT_FREE, VT_SNAPSHOT_ACTIVE, VT_SNAPSHOT_PENDING };

struct vt_snapshot_block {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t requested_bytes;
	vt_value frames, forward_frames;
	struct vt_snapshot_labels labels;
	enum vt_snapshot_state state;
};

struct vt_snapshot_annotation {
	uint64_t time_us;
	vt_value name;
	int is_end;
};

/* Where the known keys are in dicts of one kind, found once. */
struct vt_snapshot_shape {
	const vt_value *keys;
	uint32_t len;
	uint32_t at[VT_SNAPSHOT_NR_KEYS]; /* UINT32_MAX: not there */
};

struct vt_snapshot_input {
	const char *path; /* borrowed */
	struct vt_values values;
	vt_value root;
	struct vt_value_list segments;
	struct vt_value_list traces; /* by device, each a list of entries */
	struct vt_value_list annotations;
	vt_value settings;
	struct vt_snapshot_shape shapes[2]; /* the last ones */
	vt_value actions[VT_SNAPSHOT_NR_ACTIONS];
	uint64_t visits_left;
};

/*
 * Finds the lists in `input->root`, a dict, or the list that torch.cuda.memory_snapshot() returns.
 * 0, or -1 with `diag` filled.
 */
int vt_snapshot_input_init(struct vt_snapshot_input *input, struct vt_diag *diag);

/* The entries of device `number`, in their order. */
struct vt_value_list vt_snapshot_trace(const struct vt_snapshot_input *input, uint32_t number);

/* Each 0, or -1 with `diag` filled; `index` is for messages. */
int vt_snapshot_entry_read(struct vt_snapshot_input *input, uint32_t device, uint32_t index,
			   struct vt_snapshot_entry *entry, struct vt_diag *diag);
int vt_snapshot_segment_read(struct vt_snapshot_input *input, uint32_t index,
			     struct vt_snapshot_segment *segment, struct vt_diag *diag);
/* `next_address`: where the block before it ended; early releases write no address. */
int vt_snapshot_block_read(struct vt_snapshot_input *input,
			   const struct vt_snapshot_segment *segment, uint32_t index,
			   uint64_t next_address, struct vt_snapshot_block *block,
			   struct vt_diag *diag);
/* Of one without a name or a time nothing is known: is_end is -1. */
void vt_snapshot_annotation_read(struct vt_snapshot_input *input, uint32_t index,
				 struct vt_snapshot_annotation *annotation);

/* Counts `nr` items that are looked at.  -1 with `diag` filled: more than the file can have. */
int vt_snapshot_visit(struct vt_snapshot_input *input, uint64_t nr, struct vt_diag *diag);

#endif
