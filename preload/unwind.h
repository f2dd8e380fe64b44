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

/* The position of a trace: in the caller of a function that is left. */
struct vt_unwind_place {
	uint64_t address;		/* return address, read from top - 8 */
	uint64_t top;			/* stack pointer after that return */
	uint64_t frame_pointer_slot;	/* where the frame pointer after it is stored */
	int32_t is_interrupted;		/* a signal came at `address`: it follows no call */
};

/*
 * How a step outwards was taken.  A plain one depends on the address alone that it starts from
 * (until vt_unwind_flush): it leads to a top so far above the stack pointer or the frame pointer.
 */
struct vt_unwind_frame {
	int32_t is_plain;
	int32_t is_from_frame_pointer;
	int32_t top_offset;
	int32_t slot_offset;		/* of the next slot, from the new top; 0: it stays */
};

/* Whether single steps are known on this processor (libunwind-VERSION.patch). */
#if defined(__x86_64__)
#define VT_UNWIND_HAS_STEPS 1
#else
#define VT_UNWIND_HAS_STEPS 0
#endif

/*
 * Takes one step outwards.  Returns 1, 0 where the trace ends, -1 where a frame is too unusual for
 * this way: vt_unwind_stack knows another.
 */
int vt_unwind_step(struct vt_unwind_place *place, struct vt_unwind_frame *frame);

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
