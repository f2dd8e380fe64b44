/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_STACKS_H
#define VT_PRELOAD_STACKS_H

/*
 * Stacks become numbers, once each, like strings in intern.h: same context, same rules, 0 = no
 * stack.
 */

#include <stdint.h>

#include "common/journal_format.h"
#include "preload/ids.h"


/* Unwinds the caller's native stack, leaves our own frames out, returns its id. */
uint32_t vt_stacks_native(void);

/* The id of the Python stack with that key, or 0. */
uint32_t vt_stacks_find_python(const struct vt_key *key);

/* Interns a Python stack, innermost frame first; nr is at most VT_STACK_MAX_FRAMES. */
uint32_t vt_stacks_intern_python(const struct vt_key *key, const struct vt_python_frame *frames,
				 unsigned int nr);

/* Forgets everything; called when a journal opens, before any other use. */
int vt_stacks_reset(void);

#endif
