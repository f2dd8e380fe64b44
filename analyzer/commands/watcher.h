/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WATCHER_H
#define VT_ANALYZER_WATCHER_H

/*
 * The thresholds of `vtrace run`: a process beside the program's that looks at its recording as
 * `vtrace top` does; of several processes at one that runs, then at the next.  It does nothing to
 * the program, and ends with this process.
 */

#include <sys/types.h>

#include "analyzer/live/threshold_watch.h"

struct vt_watcher {
	pid_t pid; /* 0: there is none */
	int fd;
};

/*
 * Before the program and its environment.  Watches processes with a recording that this one starts.
 * Does nothing where there is no threshold.  0, or -1 with `diag` filled.
 */
int vt_watcher_start(struct vt_watcher *watcher, struct vt_threshold_watch *watch,
		     struct vt_diag *diag);
/* No more looks: the program has ended. */
void vt_watcher_stop(struct vt_watcher *watcher);
/*
 * After it: one more, at the peak of the recording that was watched, or of `path` (absolute) where
 * none was, for what no look saw.  Returns when what it found is written into it.
 */
void vt_watcher_look_at_peak(struct vt_watcher *watcher, const char *path);
/* Until it has ended, with its commands. */
void vt_watcher_wait(struct vt_watcher *watcher);

#endif
