/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_STACKS_H
#define VT_PRELOAD_STACKS_H

/*
 * Stacks become numbers, once each, like strings in intern.h: same context, same rules, 0 = no
 * stack.
 */

#include <stdint.h>

#include "common/journal_format.h"

#define VT_STACK_MAX_FRAMES 512

/* Unwinds the caller's native stack, leaves our own frames out, returns its id. */
uint32_t vt_stacks_native(void);

/*
 * Interns a Python stack, innermost frame first; nr is cut at VT_STACK_MAX_FRAMES (outermost lost).
 */
uint32_t vt_stacks_intern_python(const struct vt_python_frame *frames, unsigned int nr);

/* Forgets everything; called when a journal opens, before any other use. */
int vt_stacks_reset(void);

#endif
