/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_SESSION_H
#define VT_PRELOAD_SESSION_H

/*
 * One recording: from the first driver allocation of a process to its end.
 *
 *	NONE --first allocation, or out of memory--> OPENING --> OPEN
 *	                                                 \----> REFUSED	(no file; said once)
 *	any --fork, in the child--> NONE
 *
 * Threads: any.  The one that opens does all the work, others wait for it, bounded.
 */

#include <stdint.h>

/* Whether records can be written now.  Cheap; also notices that this is a fork child. */
int vt_session_is_open(void);

/* Opens the recording if there is none.  Returns whether it is open.  Context: hook. */
int vt_session_ensure(void);

/* The absolute output name without suffix; valid while open. */
const char *vt_session_base(void);

/* Process id of the collector that this recording started, 0 if none. */
int vt_session_collector(void);

#endif
