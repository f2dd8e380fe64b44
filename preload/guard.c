/* SPDX-License-Identifier: MIT */
#include "preload/guard.h"

#include "preload/thread_state.h"

/*
 * Stacks grow downwards: a hook inside another one has its frames below.  An entry from a frame
 * that is not below finds a guard whose hook was unwound.  (A signal handler on a stack of its own
 * above could be taken for that; it would record one nested event.)
 */
int vt_guard_enter(void)
{
	struct vt_thread *thread = vt_thread_self();
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (thread->guard && here < thread->guard)
		return 0;
	thread->guard = here;
	return 1;
}

void vt_guard_leave(void)
{
	vt_thread_self()->guard = 0;
}

void vt_guard_leave_scope(const int *entered)
{
	if (*entered)
		vt_guard_leave();
}
