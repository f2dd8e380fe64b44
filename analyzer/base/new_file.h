/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NEW_FILE_H
#define VT_ANALYZER_NEW_FILE_H

/*
 * A file that a command writes for its user: it appears complete or not at all, and replaces
 * nothing unasked.
 */

#include "analyzer/base/diag.h"

/* Before the work: 0, or -1 with `diag` filled (exit code 3) where there is a file already. */
int vt_new_file_check(const char *path, int is_forced, struct vt_diag *diag);

/* "PATH: exists; --force replaces it", exit code 3. */
void vt_new_file_exists(const char *path, struct vt_diag *diag);

/* The name of the file while it is being written, in the same folder; free(). */
char *vt_new_file_part(const char *path);

/* Gives the finished file its name, and removes it where that fails.  0, or -1 as above. */
int vt_new_file_publish(const char *part, const char *path, int is_forced, struct vt_diag *diag);

#endif
