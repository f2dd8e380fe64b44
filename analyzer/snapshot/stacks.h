/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STACKS_H
#define VT_ANALYZER_STACKS_H

/*
 * The stacks of a snapshot as rows.  PyTorch writes one list per event, innermost first, in which
 * C++ frames and Python frames follow each other; a recording has the two apart.
 *
 *  S1  A list that is referred to again, and one that is equal, costs a look-up.
 *  S2  What PyTorch's C++ frames say of autograd is kept: the node whose apply() they are in.
 *  S3  Of frames that are methods of modules it is said that they are, for what stages and rules
 *      ask; the class is "Module", which instance it is is not known.
 *  S4  Native frames have no address in a snapshot; they are numbered instead, from 1.
 */

#include "analyzer/base/map.h"
#include "analyzer/database/db.h"
#include "analyzer/snapshot/entries.h"

/* Ids of rows; 0: none. */
struct vt_snapshot_stack {
	uint32_t python;
	uint32_t native;
	uint32_t node_class; /* string */
};

/* A frame's dict or line, read once. */
struct vt_snapshot_frame {
	vt_value file, name;
	int64_t line; /* 0: not known */
	uint32_t id;  /* of its row */
	uint8_t is_native;
	uint8_t is_own;    /* of PyTorch taking the stack: no row */
	uint8_t is_caller; /* what it calls is a module's method */
	uint8_t is_method; /* of a module */
};

/* Nodes of stacks, or their frames: interned rows. */
struct vt_snapshot_rows {
	struct vt_map ids;
	uint32_t last_id;
	struct vt_stmt *insert;
};

struct vt_snapshot_stacks {
	struct vt_snapshot_input *input; /* borrowed */
	struct vt_snapshot_rows strings, codes, modules;
	struct vt_snapshot_rows python_frames, python_nodes, python_stacks;
	struct vt_snapshot_rows native_frames, native_nodes, native_stacks;
	struct vt_map frames;	/* dict, and whether a module calls it -> index of `known_frames` */
	VT_VECTOR(struct vt_snapshot_frame) known_frames;
	struct vt_map lists;	/* items and length of a list -> index of `known` */
	VT_VECTOR(struct vt_snapshot_stack) known;
};

void vt_snapshot_stacks_init(struct vt_snapshot_stacks *stacks, struct vt_snapshot_input *input,
			     struct vt_db *db);
void vt_snapshot_stacks_release(struct vt_snapshot_stacks *stacks);

/* What is no list is an empty stack.  0, or -1 with vt_db_error() or `diag` filled. */
int vt_snapshot_stacks_take(struct vt_snapshot_stacks *stacks, vt_value frames,
			    struct vt_snapshot_stack *stack, struct vt_diag *diag);

/* The same of "forward_frames": lines as Python prints them, the innermost last. */
int vt_snapshot_stacks_take_lines(struct vt_snapshot_stacks *stacks, vt_value lines,
				  struct vt_snapshot_stack *stack, struct vt_diag *diag);

/* The id of a text in the string table, 0 for what is no text or empty; 0 or -1. */
int vt_snapshot_stacks_string(struct vt_snapshot_stacks *stacks, vt_value text, uint32_t *id);

#endif
