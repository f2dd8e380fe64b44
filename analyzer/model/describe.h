/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DESCRIBE_H
#define VT_ANALYZER_DESCRIBE_H

/*
 * Stacks as text: "train.py:12 step" and "libtorch_cuda.so!at::native::empty_cuda+0x1f", innermost
 * first. Frames of the framework itself (PyTorch, Python's own library, the simulator) are left out
 * unless asked for.
 */

#include <stdint.h>

#include "analyzer/model/model.h"

struct vt_describe {
	const struct vt_model *model;
	char *directory; /* the program's working directory with a slash, NULL: unknown */
	int has_all_frames;
};

void vt_describe_init(struct vt_describe *describe, const struct vt_model *model,
		      int has_all_frames);
void vt_describe_release(struct vt_describe *describe);

/* Ids of the Python frames that are to be seen, into VT_FRAMES_MAX entries; returns how many. */
unsigned vt_describe_visible(const struct vt_describe *describe, uint32_t stack, uint32_t *ids);

/*
 * The Python frames that are to be seen: without the framework's, but where nothing else is there
 * the innermost one.
 */
struct vt_lines vt_describe_python(const struct vt_describe *describe, uint32_t stack);
/* The id of the innermost frame outside of installed packages; VT_NO_INDEX: there is none. */
uint32_t vt_describe_own_frame(const struct vt_describe *describe, uint32_t stack);
/* A Python frame's line: "train.py:12 step"; free(). */
char *vt_describe_frame(const struct vt_describe *describe, uint32_t frame);
/*
 * The native frames that are to be seen: without allocator, dispatcher and interpreter; no
 * parameter lists.
 */
struct vt_lines vt_describe_native(const struct vt_describe *describe, uint32_t stack);

/* A demangled name without its parameters: "void f<int>(int)" -> "void f<int>"; free(). */
char *vt_describe_symbol(const char *symbol);
/* What follows the folder of installed packages in a source file's path; NULL: it is in none. */
const char *vt_describe_package(const char *file);
/* Whether a source file is the simulator's, whose frames stand behind every operator's. */
int vt_describe_is_simulator(const char *file);
/* Whether a source file belongs to the framework. */
int vt_describe_is_framework(const char *file);
/* A source file without what is the same on every machine or in every run; borrowed from `file`. */
const char *vt_describe_file(const struct vt_describe *describe, const char *file);

#endif
