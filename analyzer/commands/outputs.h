/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OUTPUTS_H
#define VT_ANALYZER_OUTPUTS_H

/* Finds the recording that a process made, for whoever started that process. */

#include <stdint.h>

/*
 * The database path of the recording in `folder` that process `pid` began at or after
 * `since_realtime_ns`; the file may still be a journal only.  NULL where there is none; free().
 */
char *vt_outputs_find(const char *folder, uint32_t pid, uint64_t since_realtime_ns);

/* The same of any process. */
char *vt_outputs_find_any(const char *folder, uint64_t since_realtime_ns);

#endif
