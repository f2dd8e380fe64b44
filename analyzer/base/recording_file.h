/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDING_FILE_H
#define VT_ANALYZER_RECORDING_FILE_H

#include "analyzer/base/diag.h"

/* What an SQLite file begins with, its NUL included. */
#define VT_RECORDING_FILE_SQLITE "SQLite format 3"

/* Whether a file begins as a database or a journal does. */
int vt_recording_file_is(const char *path);

/* Any SQLite database, of whichever program. */
int vt_recording_file_is_sqlite(const char *path);

/* 0, or -1 with `diag` filled where --force would replace a recording by something else. */
int vt_recording_file_keep(const char *path, int is_forced, struct vt_diag *diag);

/* Whether both names lead to one file, or would: one name in one folder, with no such file yet. */
int vt_recording_file_is_same(const char *a, const char *b);

#endif
