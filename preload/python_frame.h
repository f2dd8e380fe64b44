/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_FRAME_H
#define VT_PRELOAD_PYTHON_FRAME_H

/*
 * One frame of the interpreter, read raw.  Context: hook; the frame is on the calling thread's
 * stack.
 */

#include <stdint.h>

#include "preload/python_abi.h"

/* The calling thread's innermost frame, or NULL. */
const void *vt_python_frame_innermost(const struct vt_python *python);

/* The code that a frame runs, or NULL for a frame without. */
const void *vt_python_frame_code(const struct vt_python *python, const void *frame);

/* How far it has come in it, as python_stack.h says. */
uint32_t vt_python_frame_instruction(const struct vt_python_abi *abi, const void *frame,
				     const void *code);

#endif
