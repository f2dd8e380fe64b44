/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_INFO_H
#define VT_PRELOAD_INFO_H

/*
 * Facts about the run, one key and one value each (table "run" of the database).
 *
 * Context: hook, journal open.  Any thread.
 */

/* Appends one fact, once per key and recording; a value longer than 32 KiB is cut. */
void vt_info_once(const char *key, const char *value);

/* Appends what is known when a recording opens: command, host, environment. */
void vt_info_write_run(void);

#endif
