/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_THRESHOLD_COMMAND_H
#define VT_ANALYZER_LIVE_THRESHOLD_COMMAND_H

/*
 * The shell command of a threshold that is reached.  It runs beside the watching, with standard
 * input closed and standard output where messages go, and with VTRACE_WARN (the threshold as it was
 * typed), VTRACE_WARN_FILE, VTRACE_WARN_PID, VTRACE_WARN_BYTES and VTRACE_WARN_LINE.  One at a
 * time for each threshold and recording.
 */

#include <sys/types.h>

#include "analyzer/live/thresholds.h"

struct vt_threshold_process {
	pid_t pid;
	const struct vt_threshold_rule *rule;
	char *file;
};

VT_VECTOR_DECLARE(vt_threshold_processes, struct vt_threshold_process);

struct vt_threshold_command {
	const char *text; /* NULL: nothing is run */
	struct vt_threshold_processes running;
};

/* Returns what is to be said (free()); NULL: it was started, or there is none. */
char *vt_threshold_command_start(struct vt_threshold_command *command,
				 const struct vt_threshold_event *event);
/* Of one that has ended badly what is to be said (free()); NULL: none of those that ended. */
char *vt_threshold_command_reap(struct vt_threshold_command *command);
/* Those that run still run. */
void vt_threshold_command_release(struct vt_threshold_command *command);

#endif
