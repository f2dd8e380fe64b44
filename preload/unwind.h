/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_UNWIND_H
#define VT_PRELOAD_UNWIND_H

/*
 * Native stacks.  The only user of libunwind, which is linked in statically and hidden: as a shared
 * library it would put its _Unwind_* functions in front of the program's.
 *
 * Context: hook, any thread, no lock of ours held; not in a signal handler.
 */

#include <stdint.h>

/*
 * Fills `frames` with the caller's return addresses, innermost first, from the first frame outside
 * this library on.  Returns how many.
 */
unsigned int vt_unwind_stack(uint64_t *frames, unsigned int size);

/*
 * Forgets what was learnt about code addresses: a library was unloaded and another may take its
 * place.
 */
void vt_unwind_flush(void);

#endif
