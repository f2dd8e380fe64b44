/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECORDING_FILE_H
#define VT_ANALYZER_RECORDING_FILE_H

/* Whether a file begins as a database or a journal does: no output of another kind replaces it. */
int vt_recording_file_is(const char *path);

/* Whether both names lead to one file that exists. */
int vt_recording_file_is_same(const char *a, const char *b);

#endif
