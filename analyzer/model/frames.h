/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FRAMES_H
#define VT_ANALYZER_FRAMES_H

/*
 * The stacks of a database in memory: frames once, stacks as leaves of a tree.  Ids are those of
 * the database; id 0, and every id that is not there, is "no stack".  Stacks come out innermost
 * frame first.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"
#include "common/journal_format.h"

#define VT_FRAMES_MAX                                                                              \
	(VT_STACK_MAX_FRAMES + 1) /* frames of one stack, and the mark that it is cut */

struct vt_code {
	char *file;
	char *name;             /* qualified where the interpreter has it: "Linear.forward" */
	const char *short_name; /* after the last dot */
	uint32_t first_line;
};

struct vt_frame_python {
	uint32_t code;
	uint32_t line;
	uint32_t self_type; /* string id, 0 = self is no module and no optimizer */
	uint64_t self_address;
};

struct vt_frame_native {
	char *symbol; /* NULL where none was found */
	uint32_t module;
	uint64_t offset; /* into the symbol, or into the module where there is no symbol */
	char *file;
	uint32_t line;
};

struct vt_frame_node {
	uint32_t parent;
	uint32_t frame;
};

struct vt_frame_tree {
	struct vt_frame_node *nodes;
	uint32_t nr_nodes;
	uint32_t *leaves; /* by stack id */
	uint32_t nr_stacks;
};

struct vt_frames {
	struct vt_code *codes;
	uint32_t nr_codes;
	struct vt_frame_python *python;
	uint32_t nr_python;
	struct vt_frame_native *native;
	uint32_t nr_native;
	char **modules; /* file names of ELF objects, without directories */
	uint32_t nr_modules;
	struct vt_frame_tree python_tree;
	struct vt_frame_tree native_tree;
};

/* Returns 0, or -1 with `diag` filled.  Released in both cases. */
int vt_frames_load(struct vt_frames *frames, struct vt_db *db, struct vt_diag *diag);
void vt_frames_release(struct vt_frames *frames);

/* Fills `out` (VT_FRAMES_MAX entries) with frame ids; returns how many. */
unsigned vt_frames_python(const struct vt_frames *frames, uint32_t stack, uint32_t *out);
unsigned vt_frames_native(const struct vt_frames *frames, uint32_t stack, uint32_t *out);

/* The code of a Python frame; never NULL. */
const struct vt_code *vt_frames_code(const struct vt_frames *frames, uint32_t python_frame);
/* Name of the ELF object of a native frame, "?" where it is unknown. */
const char *vt_frames_library(const struct vt_frames *frames, uint32_t native_frame);

#endif
