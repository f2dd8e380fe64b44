/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_SELF_H
#define VT_PRELOAD_PYTHON_SELF_H

/*
 * Which module or optimizer a frame works for: the type name and the address of its first argument,
 * if that is an instance of a class that has a base named "Module" or "Optimizer".
 */

#include "common/journal_format.h"
#include "preload/python_abi.h"

/*
 * Fills self_type and self_address of *out, or leaves both 0.  `frame` runs `code`; both belong to
 * the calling thread.  Context: hook, journal open.
 */
void vt_python_self_find(const struct vt_python *python, const void *frame, const void *code,
			 struct vt_python_frame *out);

/* Forgets all types; called when a journal opens. */
void vt_python_self_reset(void);

#endif
