/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DETACH_H
#define VT_ANALYZER_DETACH_H

/*
 * A collector behind a program: out of its session, with none of its descriptors.  Whoever started
 * us waits for the process that they know; that one ends as soon as the journal is taken up.
 *
 * For a process with one thread, once.  Both are of the process as a whole: they change its
 * standard streams and close every other descriptor.
 */

/*
 * Goes to the background.  Returns in the child only: 0, or -1 with errno.  Where there is no
 * child, -1 with errno in the process that called.  Files are opened after this.
 */
int vt_detach(void);

/* Lets the process that was called end: after vt_detach, once. */
void vt_detach_let_go(void);

#endif
