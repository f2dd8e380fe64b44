/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_NATIVE_STACK_H
#define VT_PRELOAD_NATIVE_STACK_H

/*
 * The calling thread's native stack, remembered from one event to the next.  Two events of a thread
 * share almost their whole stack, so a trace is followed only until it meets the remembered one;
 * from there on each remembered step is checked by the one or two words that it reads, in the
 * order in which unwinding would read them, instead of being taken again.  The result is exactly
 * what a full trace gives (vt_unwind_frame says why), and no word is read that a full trace would
 * not read.
 *
 * A thread borrows one of a fixed number of places; where two threads meet in one, the second does
 * without.  Context: hook, any thread.
 */

#include <stdint.h>

#include "preload/ids.h"

struct vt_native_stack;

/*
 * Brings the calling thread's stack up to date and locks it until vt_native_stack_leave.  NULL
 * where there is no place for this thread now, or the stack is deeper than `most` frames or too
 * unusual: vt_unwind_stack is the other way.
 */
struct vt_native_stack *vt_native_stack_enter(unsigned int most);
void vt_native_stack_leave(struct vt_native_stack *stack);

/*
 * What the caller last stored there for this very stack, 0 = nothing.  It is forgotten when the
 * stack changes and when another recording begins.
 */
uint32_t *vt_native_stack_id(struct vt_native_stack *stack);

/* Of the frames outside this library: what stacks.c knows a stack by, and how many there are. */
struct vt_key vt_native_stack_key(const struct vt_native_stack *stack);
unsigned int vt_native_stack_depth(const struct vt_native_stack *stack);
/* Copies these frames' return addresses, innermost first. */
void vt_native_stack_copy(const struct vt_native_stack *stack, uint64_t *frames);

#endif
