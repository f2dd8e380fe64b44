/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_COLLECTOR_H
#define VT_PRELOAD_COLLECTOR_H

/*
 * Starts `vtrace collect JOURNAL`, the process that turns the journal into the database while the
 * program runs, and outlives it.  The host gets no child, no signal and no descriptor from it.
 *
 * Context: once per journal, from the thread that opened it.
 */

/*
 * Returns the process id of the collector, or 0 if there is no vtrace program beside this library.
 */
int vt_collector_start(const char *journal_path);

#endif
