/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PROBE_H
#define VT_PRELOAD_PROBE_H

/*
 * When the probe runs.  Hooks report what happens here; where that is worth a run, the interpreter
 * is asked to run it at its main thread's next safe point (Py_AddPendingCall), never earlier, and
 * as long as it has time left (probe.c, "budget").
 *
 * Context of all: hook, any thread; outside or inside the re-entry guard.  Nothing happens without
 * an open journal, without Python, or with VTRACE_PROBE=0.
 */

#include "common/journal_format.h"

/* What a range is called that is an optimizer's step (torch.optim.Optimizer.profile_hook_step). */
#define VT_PROBE_STEP_PREFIX "Optimizer.step#"

/* A block event was recorded. */
void vt_probe_note_block(const struct vt_event_record *event);

/* A request for memory failed. */
void vt_probe_note_out_of_memory(void);

/* A mark was set that is a point in time. */
void vt_probe_note_mark(void);

/* A named range of PyTorch ended on this thread. */
void vt_probe_note_range_end(const char *name);

#endif
