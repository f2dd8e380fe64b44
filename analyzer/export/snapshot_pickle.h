/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SNAPSHOT_PICKLE_H
#define VT_ANALYZER_SNAPSHOT_PICKLE_H

/*
 * What PyTorch's memory snapshot is made of, as pickled data: keys, texts, frames and stacks are
 * each written once and referred to by their number, so that an event takes some fifty bytes.
 */

#include "analyzer/base/map.h"
#include "analyzer/export/pickle.h"
#include "analyzer/export/writers.h"

/* Keys, and texts that occur over and over. */
#define VT_SNAPSHOT_WORDS(X)                                                                       \
	X(segments) X(device_traces) X(allocator_settings) X(external_annotations)                 \
	X(device) X(address) X(total_size) X(allocated_size) X(active_size) X(requested_size)      \
	X(stream) X(segment_type) X(segment_pool_id) X(is_expandable) X(frames) X(blocks)          \
	X(size) X(state) X(active_allocated) X(inactive) X(large) X(small)                         \
	X(action) X(addr) X(time_us) X(category) X(owner) X(user_metadata) X(forward_frames)       \
	X(device_free) X(alloc) X(free_requested) X(free_completed) X(segment_alloc)               \
	X(segment_free) X(segment_map) X(segment_unmap) X(oom) X(snapshot) X(unknown)              \
	X(name) X(filename) X(line) X(stage) X(START) X(END)

#define VT_SNAPSHOT_ENUM(word) VT_SNAPSHOT_##word,
enum vt_snapshot_word { VT_SNAPSHOT_WORDS(VT_SNAPSHOT_ENUM) VT_NR_SNAPSHOT_WORDS };
#undef VT_SNAPSHOT_ENUM

/* Numbers of the memo are kept + 1; 0: not written yet. */
struct vt_snapshot_pickle {
	struct vt_pickle pickle;
	const struct vt_writer_job *job;
	const struct vt_frames *frames;
	uint32_t words[VT_NR_SNAPSHOT_WORDS];
	uint32_t *python; /* by Python frame */
	uint32_t *native;
	struct vt_map stacks;   /* Python stack, native stack */
	struct vt_map forwards; /* Python stack */
	struct vt_map texts;    /* hash of a text */
};

void vt_snapshot_pickle_init(struct vt_snapshot_pickle *p, const struct vt_writer_job *job);
void vt_snapshot_pickle_release(struct vt_snapshot_pickle *p);

void vt_snapshot_word(struct vt_snapshot_pickle *p, enum vt_snapshot_word word);
/* A key with its value. */
void vt_snapshot_number(struct vt_snapshot_pickle *p, enum vt_snapshot_word key, uint64_t value);
void vt_snapshot_choice(struct vt_snapshot_pickle *p, enum vt_snapshot_word key,
			enum vt_snapshot_word value);
void vt_snapshot_text(struct vt_snapshot_pickle *p, enum vt_snapshot_word key, const char *text);
/* "frames": the Python stack; without one, and before it with --all-frames, the native one. */
void vt_snapshot_frames(struct vt_snapshot_pickle *p, const struct vt_caller *caller);
/* "forward_frames": lines as of a traceback; nothing for stack 0. */
void vt_snapshot_forward(struct vt_snapshot_pickle *p, uint32_t python_stack);

#endif
