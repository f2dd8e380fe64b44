/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_FIND_H
#define VT_ANALYZER_LIVE_FIND_H

#include <stdint.h>

#include "analyzer/base/diag.h"

/*
 * What commands that watch a program take: a recording, a folder of them, or the process id of a
 * program that is being recorded, or of one that started it (`vtrace run`, a shell).  Digits are a
 * process id unless there is such a file.  The path; free().  NULL with `diag` filled, also where
 * the program started several that are being recorded.
 */
char *vt_live_find(const char *operand, struct vt_diag *diag);

/* The same by process id, of several the first; NULL: none of these is being recorded. */
char *vt_live_find_below(int64_t pid);

#endif
