/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPLACE_H
#define VT_ANALYZER_REPLACE_H

/*
 * A new recording where something has its name already: only recordings of ours that nobody writes
 * are replaced, and only if that was asked for.
 */

#include "analyzer/base/diag.h"

/* The files of one recording; either may be missing.  0, or -1 with `diag` filled. */
int vt_replace_check(const char *database, const char *journal, int is_forced,
		     struct vt_diag *diag);

/*
 * The same for a database that is written at once, under its own name: `output` with or without a
 * suffix, but not with that of journals.
 */
int vt_replace_check_database(const char *output, int is_forced, struct vt_diag *diag);
/*
 * Gives the database that was written as `part` (base/new_file.h) its name, without what of the old
 * recording would be taken for its own: log and journal.  0, or -1 with `diag` filled and the old
 * one as it was, the part removed.
 */
int vt_replace_publish(const char *part, const char *output, int is_forced, struct vt_diag *diag);

#endif
