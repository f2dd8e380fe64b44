/* SPDX-License-Identifier: MIT */
#include "preload/zero_reads.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "preload/export.h"
#include "preload/guard.h"
#include "preload/python_stack.h"
#include "preload/stacks.h"
#include "preload/sys.h"
#include "preload/thread_state.h"
#include "preload/tracker.h"

#define KEPT 8u

/* One stack; of the last time that it read. */
struct read {
	uint64_t time_ns;
	uint64_t bytes;
	uint32_t python_stack;
	uint32_t native_stack;
};

static struct {
	uint32_t is_busy;	/* a thread is at the list (atomic) */
	uint32_t generation;	/* the recording whose stacks these are */
	uint32_t nr;
	struct read reads[KEPT];	/* the oldest first */
} g;

/* A thread that would have to wait leaves: what it read is one of many. */
static int enter(void)
{
	return !__atomic_exchange_n(&g.is_busy, 1, __ATOMIC_ACQUIRE);
}

static void leave(void)
{
	__atomic_store_n(&g.is_busy, 0, __ATOMIC_RELEASE);
}

/* Makes room for the newest: the same stack's earlier read goes, else the oldest. */
static void drop_one(const struct read *read)
{
	uint32_t i = 0;

	while (i < g.nr && (g.reads[i].python_stack != read->python_stack ||
			    g.reads[i].native_stack != read->native_stack))
		i++;
	if (i == g.nr && g.nr < KEPT)
		return;
	if (i == g.nr)
		i = 0;
	memmove(&g.reads[i], &g.reads[i + 1], (g.nr - i - 1) * sizeof(*g.reads));
	g.nr--;
}

static void keep(uint64_t bytes)
{
	struct read read = {
		.time_ns = vt_sys_now_ns(CLOCK_MONOTONIC),
		.bytes = bytes,
		.python_stack = vt_python_stack_capture(),
	};

	if (!read.python_stack)
		read.native_stack = vt_stacks_native();
	if (!enter())
		return;
	if (g.generation != vt_thread_generation())
		g.nr = 0;
	g.generation = vt_thread_generation();
	drop_one(&read);
	g.reads[g.nr++] = read;
	leave();
}

VT_EXPORT void vtrace_zeros_read(uint64_t bytes)
{
	int recording VT_GUARD_SCOPE = vt_guard_enter();
	int saved = errno;

	if (recording && vt_tracker_is_active())
		keep(bytes);
	errno = saved;
}

void vt_zero_reads_forget(void)
{
	if (!enter())
		return;
	g.nr = 0;
	leave();
}

unsigned int vt_zero_reads_write(void)
{
	unsigned int nr = 0;

	if (!enter())
		return 0;
	for (; g.generation == vt_thread_generation() && nr < g.nr; nr++) {
		struct vt_event_record event = {
			.op = VT_OP_READ,
			.kind = VT_KIND_SEGMENT,
			.device = -1,
			.size_bytes = g.reads[nr].bytes,
			.extra = g.reads[nr].time_ns,
			.python_stack = g.reads[nr].python_stack,
			.native_stack = g.reads[nr].native_stack,
		};

		vt_tracker_past_event(&event);
	}
	g.nr = 0;
	leave();
	return nr;
}
