/* SPDX-License-Identifier: MIT */
/*
 * unw_backtrace() is libunwind's fast road: it remembers per thread and address how to find the
 * caller's frame (7-9 ns per frame, against 700 for unw_step), and takes the slow road itself where
 * a frame is unusual.  unw_backtrace_steps() is ours (scripts/libunwind-VERSION.patch): the fast
 * road alone, step by step.
 */
#define UNW_LOCAL_ONLY
#include "preload/unwind.h"

#include <libunwind.h>
#include <stddef.h>
#include <string.h>

#include "preload/real.h"

/* The hook, the tracker and what they call; never more than this many frames are ours. */
#define OWN_FRAMES 16
#define MOST_FRAMES (VT_UNWIND_MOST_STEPS - OWN_FRAMES)

static struct {
	uint32_t generation; /* atomic */
} g;

unsigned int vt_unwind_stack(uint64_t *frames, unsigned int size, int *is_cut)
{
	void *buffer[MOST_FRAMES + OWN_FRAMES];
	unsigned int want = (size < MOST_FRAMES ? size : MOST_FRAMES) + OWN_FRAMES;
	unsigned int skip = 0;
	unsigned int nr;
	int found = unw_backtrace(buffer, (int)want);

	*is_cut = 0;
	if (found <= 0)
		return 0;
	nr = (unsigned int)found;
	while (skip < nr && vt_real_is_own(buffer[skip]))
		skip++;
	nr -= skip;
	*is_cut = nr > size || (unsigned int)found == want;
	if (nr > size)
		nr = size;
	_Static_assert(sizeof(void *) == sizeof(uint64_t), "addresses are stored as they are");
	memcpy(frames, buffer + skip, nr * sizeof(*frames));
	return nr;
}

int vt_unwind_is_whole(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	int steps = 0, way;

	unw_getcontext(&context);
	if (unw_init_local(&cursor, &context))
		return 0;
	do
		way = unw_step(&cursor);
	while (way > 0 && ++steps < (int)VT_UNWIND_MOST_STEPS);
	return way >= 0;
}

/* libunwind's description of a step is ours under other names. */
_Static_assert(sizeof(struct vt_unwind_step) == sizeof(unw_trace_step_t), "layout");
_Static_assert(offsetof(struct vt_unwind_step, top) == offsetof(unw_trace_step_t, cfa), "layout");
_Static_assert(offsetof(struct vt_unwind_step, frame_pointer) == offsetof(unw_trace_step_t, rbp),
	       "layout");
_Static_assert(offsetof(struct vt_unwind_step, frame_pointer_slot) ==
		       offsetof(unw_trace_step_t, rbp_slot),
	       "layout");
_Static_assert(offsetof(struct vt_unwind_step, is_last) == offsetof(unw_trace_step_t, is_last),
	       "layout");

int vt_unwind_steps(const struct vt_unwind_step *from, unsigned int size, vt_unwind_step_fn on_step,
		    void *argument)
{
	return unw_backtrace_steps((const unw_trace_step_t *)from, (int)size,
				   (unw_trace_step_fn_t)on_step, argument);
}

void vt_unwind_flush(void)
{
	__atomic_fetch_add(&g.generation, 1, __ATOMIC_RELAXED);
	unw_flush_cache(unw_local_addr_space, 0, 0);
}

uint32_t vt_unwind_generation(void)
{
	return __atomic_load_n(&g.generation, __ATOMIC_RELAXED);
}
