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

/*
 * The name of the file while it is being written, in the same folder; free().  Removes what killed
 * commands left of `path`: their parts and what SQLite keeps beside them.  A part of a process of
 * another host, boot or container, which cannot be looked up here, has to be a day old for that.
 */
char *vt_new_file_part(const char *path);

/* Removes a part that is not to be published, with what SQLite keeps beside it. */
void vt_new_file_discard(const char *part);

/* Gives the finished file its name, and removes it where that fails.  0, or -1 as above. */
int vt_new_file_publish(const char *part, const char *path, int is_forced, struct vt_diag *diag);

#endif
