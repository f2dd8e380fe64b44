/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_WALK_H
#define VT_PRELOAD_PYTHON_WALK_H

/*
 * The walk over a thread's Python frames, and what is kept between two of them.  Two events of a
 * thread share almost their whole stack: a frame that reads as it did before is not looked at in
 * full again, and only what lies inside the innermost frame that is shared with the whole rest of
 * the stack is hashed.  The result is exactly what a walk in full gives.
 *
 * A thread borrows one of a fixed number of places; where two threads meet in one, the second does
 * without.  Context: hook, journal open.  Any thread.
 */

#include <stdint.h>

#include "preload/python_abi.h"

/* The id of the calling thread's stack, 0 for none. */
uint32_t vt_python_walk_intern(const struct vt_python *python);

/* Forgets everything; called when a journal opens. */
void vt_python_walk_reset(void);

#endif
