/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TRACKER_H
#define VT_PRELOAD_TRACKER_H

/*
 * The only way from a hook to the journal: adds to an event what every event has (time, thread,
 * stacks, scope, autograd node) and appends it.
 *
 * Context: hook, between vt_guard_enter() and vt_guard_leave().  Any thread.  errno is left as it
 * was.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/journal_format.h"

/*
 * Whether the journal is open.  The first driver allocation opens it, or the first context where
 * there are several devices; whatever comes earlier in a process must leave no trace outside its
 * memory, so that a program without CUDA stays untouched.
 */
int vt_tracker_is_active(void);
/* Opens the recording as the first allocation does, for what is recorded just before that. */
void vt_tracker_open(void);

/*
 * Records one event.  The caller zeroes the record and fills op, kind, device, function, address,
 * size_bytes, extra, stream, allocated_bytes and reserved_bytes, no more.  An allocation or
 * reservation by the driver, or being out of memory, opens the journal; any other event before that
 * is dropped.
 */
void vt_tracker_event(struct vt_event_record *event);

/* Records what happened earlier: time and thread are of now, stacks the caller's. */
void vt_tracker_past_event(struct vt_event_record *event);

/*
 * Records a mark.  BEGIN opens a range on this thread, END closes the innermost one (its name may
 * be NULL, then the range's own is used).  Before the journal is open,
 * points and ranges that stay open are kept for it, as far as there is room (early.h).
 */
void vt_tracker_mark(enum vt_mark_kind kind, enum vt_mark_source source, const char *name,
	size_t len);

#endif
