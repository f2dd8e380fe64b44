/* SPDX-License-Identifier: MIT */
/*
 * The backward pass, node by node, and the forward operations that make the nodes.
 *
 * While a node runs on a thread, the thread's state names it: a gradient allocated inside it, or a
 * saved activation released at its end, is then an event with that node.  Nodes nest (checkpointing
 * runs a backward pass inside one), so the outer one is put back, also when a C++ exception passes
 * through.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/export.h"
#include "preload/guard.h"
#include "preload/intern.h"
#include "preload/python_stack.h"
#include "preload/thread_state.h"
#include "preload/torch_forward.h"
#include "preload/torch_node.h"
#include "preload/torch_ranges.h"
#include "preload/torch_real.h"
#include "preload/tracker.h"

/* The references of the C++ signature are addresses that only the real function looks behind. */
typedef void (*evaluate_fn)(void *engine, void *task, void *node, void *inputs, void *queue);
typedef uint64_t (*next_sequence_fn)(void);
typedef uint64_t (*thread_fn)(void);

struct outer_node {
	uint32_t node_class;
	uint32_t generation;
	uint64_t node_sequence;
	uint32_t forward_python_stack;
};

static struct outer_node current_node(void)
{
	const struct vt_thread *thread = vt_thread_self();

	return (struct outer_node){
		.node_class = thread->node_class,
		.generation = thread->generation,
		.node_sequence = thread->node_sequence,
		.forward_python_stack = thread->forward_python_stack,
	};
}

static void enter_node(const void *node)
{
	struct vt_thread *thread = vt_thread_self();
	const char *class;

	if (!vt_guard_enter())
		return;
	class = vt_torch_node_class(node);
	thread->node_class = vt_intern_string(class, strlen(class));
	thread->node_sequence = vt_torch_node_sequence(node, class);
	thread->forward_python_stack = vt_torch_forward_find(vt_torch_node_thread(node, class),
							     thread->node_sequence);
	vt_guard_leave();
}

static void leave_node(const struct outer_node *outer)
{
	struct vt_thread *thread = vt_thread_self();
	int is_same_recording = thread->generation == outer->generation;

	thread->node_class = is_same_recording ? outer->node_class : 0;
	thread->node_sequence = outer->node_sequence;
	thread->forward_python_stack = outer->forward_python_stack;
}

/* Where torch_unwind.S jumps to. */
void *vt_torch_unwind_resume;
void *vt_torch_unwind_personality;

/* Whether an exception may pass through a function with a clean-up. */
static int can_unwind(void)
{
	if (!__atomic_load_n(&vt_torch_unwind_personality, __ATOMIC_ACQUIRE)) {
		vt_torch_unwind_resume = vt_torch_real_find(VT_TORCH_FUNCTION_UNWIND_RESUME, NULL);
		if (!vt_torch_unwind_resume)
			return 0;
		__atomic_store_n(&vt_torch_unwind_personality,
				 vt_torch_real_find(VT_TORCH_FUNCTION_UNWIND_PERSONALITY, NULL),
				 __ATOMIC_RELEASE);
	}
	return vt_torch_unwind_personality != NULL;
}

/* Apart from its caller, so that only a call that may be unwound has a clean-up. */
static __attribute__((noinline)) void evaluate(evaluate_fn real, void *engine, void *task,
					       void *node, void *inputs, void *queue)
{
	struct outer_node outer __attribute__((cleanup(leave_node))) = current_node();

	(void)outer;
	enter_node(node);
	real(engine, task, node, inputs, queue);
}

VT_EXPORT void vt_torch_evaluate(void *engine, void *task, void *node, void *inputs, void *queue)
	__asm__(VT_TORCH_EVALUATE);
void vt_torch_evaluate(void *engine, void *task, void *node, void *inputs, void *queue)
{
	evaluate_fn real = (evaluate_fn)vt_torch_real_find(VT_TORCH_FUNCTION_EVALUATE,
							   __builtin_return_address(0));

	/* Whoever calls it was loaded with it: only if our export was all that there was. */
	if (!real)
		return;
	if (vt_tracker_is_active() && can_unwind())
		evaluate(real, engine, task, node, inputs, queue);
	else
		real(engine, task, node, inputs, queue);
}

/*
 * A node that another node makes (a gradient is to be differentiated once more) belongs to the call
 * that the other one belongs to, unless Python made it there.
 */
static void note_forward(const struct vt_thread *thread, uint64_t sequence)
{
	thread_fn number = (thread_fn)vt_torch_real_find(VT_TORCH_FUNCTION_THREAD, NULL);
	int saved = errno;
	uint32_t stack;

	if (!number || !vt_guard_enter())
		return;
	stack = vt_python_stack_capture();
	if (!stack && thread->node_class)
		stack = thread->forward_python_stack;
	vt_torch_forward_note(number(), sequence, stack);
	vt_guard_leave();
	errno = saved;
}

VT_EXPORT uint64_t vt_torch_next_sequence(void) __asm__(VT_TORCH_NEXT_SEQUENCE);
uint64_t vt_torch_next_sequence(void)
{
	const enum vt_torch_function function = VT_TORCH_FUNCTION_NEXT_SEQUENCE;
	next_sequence_fn real =
		(next_sequence_fn)vt_torch_real_find(function, __builtin_return_address(0));
	struct vt_thread *thread = vt_thread_self();
	/* Without the real one we count as it does: from 0, per thread. */
	uint64_t sequence = real ? real() : thread->forward_sequence;

	/* Here too, for allocators that report no blocks. */
	vt_torch_ranges_start();
	thread->forward_sequence = sequence + 1;
	vt_torch_node_note_sequence(sequence);
	if (vt_tracker_is_active())
		note_forward(thread, sequence);
	return sequence;
}
