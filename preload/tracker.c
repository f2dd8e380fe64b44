/* SPDX-License-Identifier: MIT */
#include "preload/tracker.h"

#include <errno.h>
#include <time.h>

#include "preload/early.h"
#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/probe_known.h"
#include "preload/python_stack.h"
#include "preload/session.h"
#include "preload/stacks.h"
#include "preload/sys.h"
#include "preload/thread_state.h"

int vt_tracker_is_active(void)
{
	return vt_session_is_open();
}

void vt_tracker_open(void)
{
	int saved = errno;

	vt_session_ensure();
	errno = saved;
}

static int opens_recording(const struct vt_event_record *event)
{
	if (event->op == VT_OP_OUT_OF_MEMORY)
		return 1;
	return event->kind != VT_KIND_BLOCK &&
	       (event->op == VT_OP_ALLOC || event->op == VT_OP_RESERVE);
}

static uint32_t innermost_scope(const struct vt_thread *thread)
{
	uint32_t nr = thread->nr_scopes < VT_SCOPE_DEPTH ? thread->nr_scopes : VT_SCOPE_DEPTH;

	return nr ? thread->scope[nr - 1] : 0;
}

static void fill(struct vt_event_record *event)
{
	struct vt_thread *thread = vt_thread_self();

	event->thread = vt_thread_id();
	thread->memory = event->op == VT_OP_FREE || event->op == VT_OP_UNMAP;
	event->native_stack = vt_stacks_native();
	event->python_stack = vt_python_stack_capture();
	thread->memory = 0;
	event->scope = innermost_scope(thread);
	event->node_class = thread->node_class;
	event->node_sequence = thread->node_class ? thread->node_sequence : UINT64_MAX;
	event->forward_sequence = thread->forward_sequence - 1;
	event->forward_python_stack = thread->node_class ? thread->forward_python_stack : 0;
}

/*
 * Before the first event after a gap, with its time: what was alive before it may have been freed
 * in it.  Out of the way of all other events.
 */
static __attribute__((noinline, cold)) void tell_losses(uint64_t nr_events, uint64_t time_ns)
{
	struct vt_event_record loss = {
		.op = VT_OP_LOSS,
		.kind = VT_KIND_BLOCK,
		.device = -1,
		.time_ns = time_ns,
		.thread = vt_thread_id(),
		.size_bytes = nr_events,
		.node_sequence = UINT64_MAX,
		.forward_sequence = UINT64_MAX,
	};

	if (vt_journal_append(&loss, sizeof(loss), VT_RECORD_EVENT))
		vt_journal_give_back_losses(nr_events);
}

static void append(void *record, size_t bytes, enum vt_record_type type, uint64_t time_ns)
{
	uint64_t nr_lost = vt_journal_take_losses();

	if (nr_lost)
		tell_losses(nr_lost, time_ns);
	if (vt_journal_append(record, bytes, type))
		vt_journal_count_lost(1);
}

void vt_tracker_event(struct vt_event_record *event)
{
	int saved = errno;

	if (!vt_session_is_open()) {
		if (!opens_recording(event))
			goto out;
		if (!vt_session_ensure()) {
			vt_journal_count_lost(1);
			goto out;
		}
	}
	event->time_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	/* Off: no stack is worth taking any more. */
	if (vt_journal_is_recording())
		fill(event);
	append(event, sizeof(*event), VT_RECORD_EVENT, event->time_ns);
	if (event->op == VT_OP_FREE || event->op == VT_OP_UNMAP)
		vt_probe_known_note_free(event->address);
out:
	errno = saved;
}

void vt_tracker_past_event(struct vt_event_record *event)
{
	int saved = errno;

	if (!vt_session_is_open())
		return;
	event->time_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	event->thread = vt_thread_id();
	event->node_sequence = UINT64_MAX;
	event->forward_sequence = UINT64_MAX;
	append(event, sizeof(*event), VT_RECORD_EVENT, event->time_ns);
	errno = saved;
}

static void open_range(struct vt_thread *thread, uint32_t name)
{
	if (thread->nr_scopes < VT_SCOPE_DEPTH)
		thread->scope[thread->nr_scopes] = name;
	thread->nr_scopes++;
}

/*
 * Returns the name of the range that is closed: its own, or `name` where it was too deep to be
 * kept.
 */
static uint32_t close_range(struct vt_thread *thread, uint32_t name)
{
	if (!thread->nr_scopes)
		return 0;
	thread->nr_scopes--;
	return thread->nr_scopes < VT_SCOPE_DEPTH ? thread->scope[thread->nr_scopes] : name;
}

/* Before the recording: points and open ranges are kept for it, as far as there is room. */
static void keep_mark(struct vt_thread *thread, enum vt_mark_kind kind, enum vt_mark_source source,
	const char *name, size_t len)
{
	if (kind == VT_MARK_BEGIN)
		open_range(thread, vt_early_keep(kind, source, name, len, vt_thread_id()));
	else if (kind == VT_MARK_END)
		vt_early_drop(close_range(thread, 0));
	else
		vt_early_keep(kind, source, name, len, vt_thread_id());
}

static void record_mark(struct vt_thread *thread, enum vt_mark_kind kind,
	enum vt_mark_source source, uint32_t name)
{
	struct vt_mark_record mark = {
		.kind = (uint16_t)kind,
		.source = (uint16_t)source,
		.name = name,
	};

	if (kind == VT_MARK_BEGIN)
		open_range(thread, name);
	else if (kind == VT_MARK_END)
		mark.name = close_range(thread, name);
	/* The end of a range whose beginning was not recorded says nothing. */
	if (!mark.name)
		return;
	mark.time_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	mark.thread = vt_thread_id();
	mark.python_stack = kind == VT_MARK_END ? 0 : vt_python_stack_capture();
	append(&mark, sizeof(mark), VT_RECORD_MARK, mark.time_ns);
}

void vt_tracker_mark(enum vt_mark_kind kind, enum vt_mark_source source, const char *name,
	size_t len)
{
	struct vt_thread *thread = vt_thread_self();
	int saved = errno;

	if (vt_session_is_open())
		record_mark(thread, kind, source, vt_intern_string(name, len));
	else
		keep_mark(thread, kind, source, name, len);
	errno = saved;
}
