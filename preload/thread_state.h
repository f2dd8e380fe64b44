/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_THREAD_STATE_H
#define VT_PRELOAD_THREAD_STATE_H

/*
 * What the recorder remembers per thread: one plain object in initial-exec thread-local storage (no
 * lazy allocation, no destructor, usable in any order of construction and death).  All zero is its
 * valid first state.  Only the owning thread touches it.
 */

#include <stdint.h>

/*
 * Stacks that a thread remembers of each kind.  What gives memory back runs elsewhere than what
 * takes it, and the two take turns.
 */
#define VT_STACK_MEMORIES 2u

#define VT_OPERATOR_DEPTH 24	/* those nested deeper are counted, not recorded */
#define VT_SCOPE_DEPTH 32	/* ranges nested deeper are counted, their names are not kept */

struct vt_thread {
	uintptr_t guard;	/* frame that entered the re-entry guard, 0 = none; guard.h */
	uint32_t tid;			/* kernel thread id, 0 = not asked yet */

	/* Open ranges, outermost first; nr_scopes may exceed VT_SCOPE_DEPTH.  tracker.c */
	uint32_t nr_scopes;
	uint32_t scope[VT_SCOPE_DEPTH];	/* string ids, 0 = a name that was not kept */

	/*
	 * The autograd node being evaluated here; written by the framework hooks, read by the
	 * tracker.
	 */
	uint32_t node_class;		/* string id, 0 = none */
	uint64_t node_sequence;		/* valid while node_class != 0 */
	uint32_t forward_python_stack;	/* where the node was made, 0 = not known; likewise */
	uint64_t forward_sequence;	/* last number given to a node here, plus 1; 0 = none */

	/* Outermost module whose call this thread was in at the last event, 0 = none. */
	uint64_t module_call;

	/*
	 * What PyTorch's allocator was asked for since its last report, 0 = nothing that is known.
	 * torch_request.c
	 */
	uint64_t request_bytes;

	/* Observed operators in progress, outermost first.  torch_operators.c */
	uint32_t nr_operators;
	uint32_t operators[VT_OPERATOR_DEPTH];
	uint64_t last_block;		/* reported here since the last one began */

	/*
	 * Which of its remembered stacks the event in progress is compared with, 0 outside of
	 * events.  tracker.c, native_stack.c, python_walk.c
	 */
	uint32_t memory;

	/* Which recording the ids above belong to: a fork child or a new journal starts anew. */
	uint32_t generation;
};
_Static_assert(sizeof(struct vt_thread) <= 512, "static TLS is scarce");

/* Behind the functions below, which every event calls some twenty times: not for others. */
extern _Thread_local struct vt_thread vt_thread_here __attribute__((visibility("hidden")));
extern uint32_t vt_thread_newest __attribute__((visibility("hidden"))); /* atomic */
void vt_thread_begin(struct vt_thread *thread, uint32_t generation);
uint32_t vt_thread_ask_id(struct vt_thread *thread);

/* Number of the present generation, for caches outside this file that must end with it. */
static inline uint32_t vt_thread_generation(void)
{
	return __atomic_load_n(&vt_thread_newest, __ATOMIC_RELAXED);
}

/*
 * The calling thread's state.  Ids of an earlier recording (before a fork) have been cleared.
 * Never NULL.
 */
static inline struct vt_thread *vt_thread_self(void)
{
	uint32_t generation = vt_thread_generation();

	if (vt_thread_here.generation != generation)
		vt_thread_begin(&vt_thread_here, generation);
	return &vt_thread_here;
}

/* Kernel thread id of the caller, asked once per thread. */
static inline uint32_t vt_thread_id(void)
{
	struct vt_thread *thread = vt_thread_self();

	return thread->tid ? thread->tid : vt_thread_ask_id(thread);
}

/*
 * Declares that ids and thread ids remembered so far are void: in a fork child, and when a journal
 * opens.
 */
void vt_thread_new_generation(void);

#endif
