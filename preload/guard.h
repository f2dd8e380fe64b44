/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_GUARD_H
#define VT_PRELOAD_GUARD_H

/*
 * The re-entry guard of every hook.  While a thread is between enter and leave, further hooks on
 * the same thread (a driver that calls its own exports, a library under us, our own code) only
 * forward.
 *
 *	int entered VT_GUARD_SCOPE = vt_guard_enter();
 *
 * leaves by itself at the end of the block.  An exception or a cancellation that unwinds through
 * the hook does not run that (a landing pad would make libgcc_s a library that we need); instead
 * the guard remembers how deep in the stack it was entered, and one whose frame is gone no longer
 * counts.
 */

/* Returns 1 when the caller may record, 0 when it must only forward: we are inside ourselves. */
int vt_guard_enter(void);

/* Ends what vt_guard_enter began.  Call it only if that returned 1. */
void vt_guard_leave(void);

/* Leaves if *entered; for VT_GUARD_SCOPE. */
void vt_guard_leave_scope(const int *entered);

#define VT_GUARD_SCOPE __attribute__((cleanup(vt_guard_leave_scope)))

#endif
