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

/*
 * The id of a code object, which must be alive; 0 if nothing can be recorded.  Context: hook,
 * journal open. Any thread; two that meet the same new code may write it under two ids.
 */
uint32_t vt_python_code_id(const struct vt_python_abi *abi, const void *code);

/* Whether the code with this id is what PyTorch runs when a module is called. */
int vt_python_code_is_call(uint32_t id);

/*
 * Forgets all ids; called when a journal opens.  Returns 0 or -ENOMEM (then every use writes a
 * record).
 */
int vt_python_code_reset(void);

#endif
