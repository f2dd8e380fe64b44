/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PROGRAM_NAME_H
#define VT_ANALYZER_PROGRAM_NAME_H

#include "analyzer/database/db.h"

/*
 * What a user calls a run: of `command`, the JSON array of its arguments (NULL: not known), the
 * base name of the script or module that a Python runs, else of the program.  Printable; free().
 */
char *vt_program_name(const char *command);

/* The same of a recording; of an imported snapshot, which knows no command, the snapshot's name. */
char *vt_program_name_of(struct vt_db *db);

#endif
