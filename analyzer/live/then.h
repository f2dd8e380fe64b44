/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_THEN_H
#define VT_ANALYZER_LIVE_THEN_H

/*
 * The shell command of a threshold that is reached.  It runs beside the watching, with standard
 * input closed and standard output where messages go, and with VTRACE_WARN (the threshold as it was
 * typed), VTRACE_WARN_FILE, VTRACE_WARN_PID, VTRACE_WARN_BYTES and VTRACE_WARN_LINE.  One at a
 * time for each threshold and recording.
 */

#include <sys/types.h>

#include "analyzer/live/warn.h"

struct vt_then_process {
	pid_t pid;
	const struct vt_warn_rule *rule;
	char *file;
};

VT_VECTOR_DECLARE(vt_then_processes, struct vt_then_process);

struct vt_then {
	const char *command; /* NULL: nothing is run */
	struct vt_then_processes running;
};

/* Returns what is to be said (free()); NULL: it was started, or there is none. */
char *vt_then_start(struct vt_then *then, const struct vt_warn_event *event);
/* Of one that has ended badly what is to be said (free()); NULL: none of those that ended. */
char *vt_then_reap(struct vt_then *then);
/* Those that run still run. */
void vt_then_release(struct vt_then *then);

#endif
