/* SPDX-License-Identifier: MIT */
/*
 * unw_backtrace() is libunwind's fast road: it remembers per thread and address how to find the
 * caller's frame (7-9 ns per frame, against 700 for unw_step), and takes the slow road itself where
 * a frame is unusual.
 */
#define UNW_LOCAL_ONLY
#include "preload/unwind.h"

#include <libunwind.h>
#include <string.h>

#include "preload/real.h"

/* The hook, the tracker and what they call; never more than this many frames are ours. */
#define OWN_FRAMES 16
#define MOST_FRAMES 512

unsigned int vt_unwind_stack(uint64_t *frames, unsigned int size)
{
	void *buffer[MOST_FRAMES + OWN_FRAMES];
	unsigned int want = (size < MOST_FRAMES ? size : MOST_FRAMES) + OWN_FRAMES;
	unsigned int skip = 0;
	unsigned int nr;
	int found = unw_backtrace(buffer, (int)want);

	if (found <= 0)
		return 0;
	nr = (unsigned int)found;
	while (skip < nr && vt_real_is_own(buffer[skip]))
		skip++;
	nr -= skip;
	if (nr > size)
		nr = size;
	_Static_assert(sizeof(void *) == sizeof(uint64_t), "addresses are stored as they are");
	memcpy(frames, buffer + skip, nr * sizeof(*frames));
	return nr;
}

void vt_unwind_flush(void)
{
	unw_flush_cache(unw_local_addr_space, 0, 0);
}
