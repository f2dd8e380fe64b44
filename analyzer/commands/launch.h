/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LAUNCH_H
#define VT_ANALYZER_LAUNCH_H

/*
 * Runs a program as if the user's shell had: same terminal, same process group, and signals sent to
 * us reach it.
 */

#include <sys/types.h>

#include "analyzer/base/diag.h"

/*
 * Starts argv[0] (the file `path`) and waits for its end.  Returns 0 with *pid and *status (as of
 * waitpid), or -1 with `diag` filled if it could not be started.
 */
int vt_launch_run(const char *path, char **argv, pid_t *pid, int *status, struct vt_diag *diag);

/*
 * Makes a file of ours at the limit of files' sizes (ulimit -f) an error, EFBIG, as a full disk is
 * one: the signal would end us, and with us the program's exit code.  A program that
 * vt_launch_run starts has the signal as we found it.  Once, before any thread.
 */
void vt_launch_ignore_file_limit(void);

#endif
