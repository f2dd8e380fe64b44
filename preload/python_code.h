/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_CODE_H
#define VT_PRELOAD_PYTHON_CODE_H

/*
 * Python code objects become numbers, like strings in intern.h: the first use writes a code record
 * with everything that turns an instruction into a line later, further uses find the number without
 * a lock.
 */

#include <stdint.h>

#include "preload/python_abi.h"
#include "preload/code_cache.h"

/*
 * What is known of a code object, which must be on the stack that this walk goes through: looks at
 * it if this is the first time in the walk.  Context: hook, journal open.  Any thread, `known` is
 * its own; two threads that meet the same new code may write it under two ids.
 */
struct vt_cached_code *vt_python_code_look(const struct vt_python_abi *abi,
						 struct vt_code_cache *known, const void *code);

/*
 * How many code objects of files that the program made itself, and whose names say nothing, have
 * been written: the probe can ask the program about those.  Any thread.
 */
uint32_t vt_python_code_nr_made(void);

/*
 * Forgets all ids; called when a journal opens.  Returns 0 or -ENOMEM (then every use writes a
 * record).
 */
int vt_python_code_reset(void);

#endif
