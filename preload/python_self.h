/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_SELF_H
#define VT_PRELOAD_PYTHON_SELF_H

/*
 * Which module or optimizer a frame works for: its first argument, if that is an instance of a
 * class that has a base named "Module", or "Optimizer" with no base of its own.
 */

#include <stdint.h>

#include "preload/python_abi.h"
#include "preload/code_cache.h"

/* What was found in a frame, raw: as long as it reads the same, the object is the same. */
enum vt_python_self_where {
	VT_PYTHON_SELF_NONE,	/* nothing there */
	VT_PYTHON_SELF_LOCAL,	/* the first local variable */
	VT_PYTHON_SELF_CELL,	/* in the cell that is the first local variable */
	VT_PYTHON_SELF_MOVED,	/* in a cell after the local variables (until 3.10) */
};

struct vt_python_self {
	const void *object;
	const void *type;
	enum vt_python_self_where where;
};

/*
 * The first argument of a frame that runs `code`, which has one; both belong to the calling thread.
 * Context: hook.
 */
struct vt_python_self vt_python_self_read(const struct vt_python *python, const void *frame,
					  const void *code);

/*
 * What is known of a type: looks at it if this is the first time in the walk.  Context: hook,
 * journal open.
 */
struct vt_cached_type *vt_python_self_look(const struct vt_python_abi *abi,
						 struct vt_code_cache *known, const void *type);

/* Forgets all types; called when a journal opens. */
void vt_python_self_reset(void);

#endif
