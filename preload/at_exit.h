/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_AT_EXIT_H
#define VT_PRELOAD_AT_EXIT_H

/*
 * The end of a program by exit(): notes it in the journal, gives the collector a bounded time to
 * finish the database, prints the closing lines.  Of an end by _exit() the journal has the status.
 */

/*
 * Registers the exit handler; called by the constructor.  It runs after the program's own handlers
 * and after every library's destructors: handlers run in the reverse order of their registration,
 * and the loader registers the destructors' turn after our constructor.  Frees in destructors are
 * thus recorded before it.
 */
void vt_at_exit_register(void);

#endif
