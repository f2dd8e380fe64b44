/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PRINTABLE_H
#define VT_ANALYZER_PRINTABLE_H

/*
 * Text of a program, a file or a driver, as a terminal may have it: one line that drives nothing.
 * Control characters, those of Unicode too (C1, line separators, directions of writing), and bytes
 * that are no UTF-8 become '?'.
 */

/* In place; NULL stays NULL.  Returns `text`. */
char *vt_printable_make(char *text);

/* A copy (free()), NULL for NULL. */
char *vt_printable_copy(const char *text);

/*
 * The name of a file that was written, alone on a line of standard output: as it is for the program
 * that reads it, as above on a terminal.
 */
void vt_printable_path(const char *path);

#endif
