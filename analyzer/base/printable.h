/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PRINTABLE_H
#define VT_ANALYZER_PRINTABLE_H

/*
 * Text of a program, a file or a driver, as a terminal may have it: one line that drives nothing.
 * Control characters, those of UTF-8 above 0x7f too, become '?'.
 */

/* In place; NULL stays NULL.  Returns `text`. */
char *vt_printable_make(char *text);

/* A copy (free()), NULL for NULL. */
char *vt_printable_copy(const char *text);

#endif
