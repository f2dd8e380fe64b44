/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DYNAMIC_LOADER_H
#define VT_ANALYZER_DYNAMIC_LOADER_H

/* What glibc's dynamic loader accepts in its variables, and which programs it serves. */

#include "analyzer/base/diag.h"

/*
 * A name of the existing folder or file `path` that LD_PRELOAD and LD_LIBRARY_PATH can hold: they
 * are split at spaces, colons and semicolons, and expand `$`.  `path` itself where it has none of
 * these, else a path through a symbolic link to its folder in a directory that only this user can
 * write ($XDG_RUNTIME_DIR, $TMPDIR or /tmp).  The link is kept: processes of the program can
 * outlive this one.  NULL with `diag` filled where no link can be made; free().
 */
char *vt_dynamic_loader_name(const char *path, struct vt_diag *diag);

/*
 * Why LD_PRELOAD, as set in this process, does not put libvtrace.so into the program `path` (or,
 * of a script, into its interpreter); NULL where it does, or where nothing can be found out.  The
 * text is static.  Runs the program's loader, never the program.
 */
const char *vt_dynamic_loader_refusal(const char *path);

#endif
