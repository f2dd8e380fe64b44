/* SPDX-License-Identifier: MIT */
#include "preload/thread_state.h"

#include "preload/early.h"
#include "preload/sys.h"

static struct {
	uint32_t generation;	/* atomic */
} g;

static _Thread_local struct vt_thread self __attribute__((tls_model("initial-exec")));

/* Open ranges stay open, but their names and everything else that a number stood for are gone. */
static void start_generation(struct vt_thread *thread, uint32_t generation)
{
	thread->tid = 0;
	for (uint32_t i = 0; i < VT_SCOPE_DEPTH; i++)
		thread->scope[i] = vt_early_id(thread->scope[i]);
	thread->node_class = 0;
	thread->generation = generation;
}

struct vt_thread *vt_thread_self(void)
{
	uint32_t generation = __atomic_load_n(&g.generation, __ATOMIC_RELAXED);

	if (self.generation != generation)
		start_generation(&self, generation);
	return &self;
}

uint32_t vt_thread_id(void)
{
	struct vt_thread *thread = vt_thread_self();

	if (!thread->tid)
		thread->tid = (uint32_t)vt_sys_thread_id();
	return thread->tid;
}

void vt_thread_new_generation(void)
{
	__atomic_fetch_add(&g.generation, 1, __ATOMIC_RELAXED);
}

uint32_t vt_thread_generation(void)
{
	return __atomic_load_n(&g.generation, __ATOMIC_RELAXED);
}
