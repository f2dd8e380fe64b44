/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ENDED_H
#define VT_ANALYZER_ENDED_H

/*
 * How a program ended, in words.  A database says "killed" where no exit handler ran and nobody saw
 * the status: SIGKILL does that, and quick_exit.
 */

#include <stdint.h>

#include "analyzer/database/db.h"

/* As a list has it: "without its exit handlers", else as recorded ("exit 0", "signal 9"). */
const char *vt_ended_text(const char *ended);
/* Of one that neither exited nor runs: "was killed" where a signal is known ... */
const char *vt_ended_early(const char *ended);
/* ... and as a note begins: "killed". */
const char *vt_ended_note(const char *ended);

/* NULL: a program that still runs, as "running". */
int vt_ended_is_running(const char *ended);
/* How long it ran, up to now where it runs; -1: not known. */
int64_t vt_ended_ran_ns(struct vt_db *db);
/* By an error or a signal; one that runs, or whose recording is of a moment, has not failed. */
int vt_ended_has_failed(const char *ended);

#endif
