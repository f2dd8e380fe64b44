/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PROGRAM_NAME_H
#define VT_ANALYZER_PROGRAM_NAME_H

/*
 * What a user calls a run: of `command`, the JSON array of its arguments (NULL: not known), the
 * base name of the script or module that a Python runs, else of the program.  Printable; free().
 */
char *vt_program_name(const char *command);

#endif
