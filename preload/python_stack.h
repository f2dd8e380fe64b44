/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_STACK_H
#define VT_PRELOAD_PYTHON_STACK_H

/*
 * The calling thread's Python stack, read raw: no GIL, no reference counted, no Python function
 * called but the two that work without the GIL.  Why that is safe: this thread is inside a C call
 * that its innermost Python frame made, so none of its frames can change until we return, each
 * frame owns its code object, and what is read of a code object never changes.
 *
 * What is stored per frame, for whoever decodes lines later (struct
 * vt_python_frame.instruction_bytes):
 *
 *   The number of bytes from the beginning of the bytecode to the instruction in progress, the same
 *   that the interpreter itself gives to PyCode_Addr2Line().  Look it up as it is, add nothing.
 *
 *   3.9		f_lasti
 *   3.10		f_lasti * 2
 *   3.11, 3.12	prev_instr - co_code_adaptive.  Points at the call, or at one of its inline cache
 *			entries, which the line table gives to the call.
 *   3.13, 3.14	instr_ptr - co_code_adaptive (of the thread's own copy of the bytecode in a
 *			free-threaded build): the call itself.
 *
 *   VT_PYTHON_NO_INSTRUCTION: unknown; use the code object's first line.
 *
 * struct vt_python_code_record.python_minor gives the table's format: 9 = co_lnotab (pairs of
 * unsigned byte increment and signed line increment), 10 = co_linetable of PEP 626 (pairs; line
 * increment -128 = no line), 11 and later = location table (Objects/locations.md).  A table too
 * long for a record is cut at its end.
 */

#include <stdint.h>

#include "preload/python_abi.h"

/*
 * Interns the calling thread's Python stack.  Returns its id, or 0: no interpreter, one of an
 * unknown version, a thread without Python frames, or an interpreter that is shutting down.
 * Context: hook, journal open.  Any thread.
 */
uint32_t vt_python_stack_capture(void);

/*
 * The interpreter of this process, or NULL: none that is known, or it is shutting down.
 * Context: hook, journal open.  Any thread.
 */
const struct vt_python *vt_python_stack_interpreter(void);

/* The address of one of its functions, or NULL.  Slow: keep it.  Context: hook. */
void *vt_python_stack_symbol(const char *symbol);

/*
 * Forgets every id handed out and looks for the interpreter anew; called when a journal opens,
 * before any capture.  Returns 0 or -ENOMEM.
 */
int vt_python_stack_reset(void);

#endif
