/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_UNWIND_H
#define VT_PRELOAD_UNWIND_H

/*
 * Native stacks.  The only user of libunwind, which is linked in statically and hidden: as a shared
 * library it would put its _Unwind_* functions in front of the program's.
 *
 * Context: hook, any thread, no lock of ours held; not in a signal handler.
 */

#include <stdint.h>

/*
 * Fills `frames` with the caller's return addresses, innermost first, from the first frame outside
 * this library on.  Returns how many; *is_cut: there were more.
 */
unsigned int vt_unwind_stack(uint64_t *frames, unsigned int size, int *is_cut);

/*
 * Whether the way outwards is known up to where the thread began; else such a trace ends at what it
 * could not read or follow.  Slow: for stacks that are new.
 */
int vt_unwind_is_whole(void);

/*
 * One step of a trace, from a frame to its caller.  What the trace does from there on depends on
 * `address`, `top` and `frame_pointer` and, while the later steps are plain, on the words that
 * those read: the return address at top - 8 and the frame pointer at its slot.  Nothing else.
 */
struct vt_unwind_step {
	uint64_t address;		/* return address, read from top - 8 */
	uint64_t top;			/* stack pointer after that return */
	uint64_t frame_pointer;		/* after that return */
	uint64_t frame_pointer_slot;	/* where it was read from; 0: the callee kept it */
	int32_t is_plain;
	int32_t is_last;		/* `address` is no code: the stack ends here */
};

/* Returns nonzero to end the trace. */
typedef int (*vt_unwind_step_fn)(void *argument, const struct vt_unwind_step *step);

/*
 * Takes at most `size` steps from the frame that `from` has led to outwards, innermost first.
 * Returns how many were taken and not ended by `on_step`; -1 where a frame is too unusual for this
 * road: vt_unwind_stack knows another.
 */
int vt_unwind_steps(const struct vt_unwind_step *from, unsigned int size, vt_unwind_step_fn on_step,
		    void *argument);

/* Below this nothing is code: a return address ends the stack. */
#define VT_UNWIND_LOWEST_ADDRESS 0x4000u

#define VT_UNWIND_MOST_STEPS 528u

/*
 * Forgets what was learnt about code addresses: a library was unloaded and another may take its
 * place.
 */
void vt_unwind_flush(void);

/* Changes with every vt_unwind_flush. */
uint32_t vt_unwind_generation(void);

#endif
