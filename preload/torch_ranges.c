/* SPDX-License-Identifier: MIT */
/*
 * A RecordFunction observer in C.  Only the scope of user ranges is asked for: PyTorch filters by
 * scope before it makes anything, so that operators stay as fast as without us.
 */

#include "preload/torch_ranges.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/guard.h"
#include "preload/intern.h"
#include "preload/probe.h"
#include "preload/thread_state.h"
#include "preload/torch_callback.h"
#include "preload/torch_observing.h"
#include "preload/torch_operators.h"
#include "preload/torch_real.h"
#include "preload/tracker.h"

int vt_torch_ranges_started;

static struct {
	vt_torch_call_name_fn name;
} g;

static void *begin(void **result, const void *range)
{
	const char *name = g.name(range);
	int entered VT_GUARD_SCOPE = vt_guard_enter();

	*result = NULL;
	if (entered && name)
		vt_tracker_mark(VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION, name, strlen(name));
	return result;
}

/*
 * How many ranges above and including the innermost one called `id` are open on this thread; 0 =
 * none is.
 */
static uint32_t depth_of(const struct vt_thread *thread, uint32_t id)
{
	uint32_t depth;

	for (depth = 1; depth <= thread->nr_scopes; depth++) {
		uint32_t index = thread->nr_scopes - depth;

		/* A range whose name was not kept may be this one. */
		if (index >= VT_SCOPE_DEPTH || thread->scope[index] == 0 ||
		    thread->scope[index] == id)
			return depth;
	}
	return 0;
}

/*
 * A range that covers an asynchronous operation ends on the thread that finishes it: what is open
 * there has nothing to do with it, and on the thread that began it later ends find it still open
 * inside them.
 */
static void end(const void *range, void *context)
{
	const char *name = g.name(range);
	int entered VT_GUARD_SCOPE = vt_guard_enter();
	uint32_t depth;

	(void)context;
	if (!entered || !name)
		return;
	if (!vt_tracker_is_active()) {
		vt_tracker_mark(VT_MARK_END, VT_SOURCE_RECORD_FUNCTION, NULL, 0);
		return;
	}
	depth = depth_of(vt_thread_self(), vt_intern_string(name, strlen(name)));
	while (depth-- > 0)
		vt_tracker_mark(VT_MARK_END, VT_SOURCE_RECORD_FUNCTION, NULL, 0);
	vt_probe_note_range_end(name);
	vt_torch_observing_note_range_end(name);
}

/*
 * The callback structure was another one before 1.13, the first release that reports being out of
 * memory.
 */
static int has_known_layout(void)
{
	return vt_torch_real_find(VT_TORCH_FUNCTION_OUT_OF_MEMORY_V1, NULL) ||
	       vt_torch_real_find(VT_TORCH_FUNCTION_OUT_OF_MEMORY_V2, NULL);
}

static void start(void)
{
	struct vt_torch_callback callback = {
		.start = begin,
		.end = end,
		.sampling_probability = 1.0,
	};
	vt_torch_add_callback_fn add;

	if (__atomic_exchange_n(&vt_torch_ranges_started, 1, __ATOMIC_RELAXED) ||
	    !has_known_layout())
		return;
	add = (vt_torch_add_callback_fn)vt_torch_real_find(VT_TORCH_FUNCTION_ADD_CALLBACK,
							   NULL);
	g.name = (vt_torch_call_name_fn)vt_torch_real_find(VT_TORCH_FUNCTION_RANGE_NAME, NULL);
	if (!add || !g.name)
		return;
	callback.scopes[VT_TORCH_SCOPE_USER] = 1;
	add(callback);
	vt_torch_operators_start();
}

void vt_torch_ranges_begin(void)
{
	int saved = errno;

	if (!vt_tracker_is_active())
		return;
	start();
	errno = saved;
}
