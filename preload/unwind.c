/* SPDX-License-Identifier: MIT */
/*
 * unw_backtrace() is libunwind's fast path: it remembers per thread and address how to find the
 * caller's frame (7-9 ns per frame, against 700 for unw_step), and takes the slow path itself where
 * a frame is unusual.  unw_backtrace_step() is ours (scripts/libunwind-1.8.1.patch): one step of
 * the fast path.
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

#if VT_UNWIND_HAS_STEPS
/* libunwind's descriptions are ours under other names. */
#define SAME_PLACE(ours, theirs)                                                                   \
	_Static_assert(offsetof(struct vt_unwind_place, ours) ==                                   \
			       offsetof(unw_trace_place_t, theirs), "layout")
#define SAME_FRAME(ours, theirs)                                                                   \
	_Static_assert(offsetof(struct vt_unwind_frame, ours) ==                                   \
			       offsetof(unw_trace_frame_t, theirs), "layout")
_Static_assert(sizeof(struct vt_unwind_place) == sizeof(unw_trace_place_t), "layout");
_Static_assert(sizeof(struct vt_unwind_frame) == sizeof(unw_trace_frame_t), "layout");
SAME_PLACE(address, ip);
SAME_PLACE(top, cfa);
SAME_PLACE(frame_pointer_slot, rbp_slot);
SAME_PLACE(is_interrupted, is_interrupted);
SAME_FRAME(is_plain, is_plain);
SAME_FRAME(is_from_frame_pointer, is_from_rbp);
SAME_FRAME(top_offset, cfa_offset);
SAME_FRAME(slot_offset, rbp_offset);

int vt_unwind_step(struct vt_unwind_place *place, struct vt_unwind_frame *frame)
{
	return unw_backtrace_step((unw_trace_place_t *)place, (unw_trace_frame_t *)frame);
}
#else
int vt_unwind_step(struct vt_unwind_place *place, struct vt_unwind_frame *frame)
{
	(void)place;
	(void)frame;
	return -1;
}
#endif

void vt_unwind_flush(void)
{
	__atomic_fetch_add(&g.generation, 1, __ATOMIC_RELAXED);
	unw_flush_cache(unw_local_addr_space, 0, 0);
}

uint32_t vt_unwind_generation(void)
{
	return __atomic_load_n(&g.generation, __ATOMIC_RELAXED);
}
