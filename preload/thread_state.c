/* SPDX-License-Identifier: MIT */
#include "preload/thread_state.h"

#include "preload/early.h"
#include "preload/sys.h"

uint32_t vt_thread_newest;
_Thread_local struct vt_thread vt_thread_here;

/* Open ranges stay open, but their names and everything else that a number stood for are gone. */
void vt_thread_begin(struct vt_thread *thread, uint32_t generation)
{
	thread->tid = 0;
	for (uint32_t i = 0; i < VT_SCOPE_DEPTH; i++)
		thread->scope[i] = vt_early_id(thread->scope[i]);
	thread->node_class = 0;
	thread->nr_operators = 0;
	thread->generation = generation;
}

uint32_t vt_thread_ask_id(struct vt_thread *thread)
{
	thread->tid = (uint32_t)vt_sys_thread_id();
	return thread->tid;
}

void vt_thread_new_generation(void)
{
	__atomic_fetch_add(&vt_thread_newest, 1, __ATOMIC_RELAXED);
}
