/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_CHARACTER_H
#define VT_COMMON_CHARACTER_H

/*
 * The one place that knows what may be shown: UTF-8 without control characters, those of Unicode
 * too (C1, line separators, directions of writing).
 */

/*
 * How many bytes the character at the start of `text` has, which is not at its end; 1 for what is
 * no UTF-8.  Sets whether a terminal may have it.
 */
unsigned vt_character_read(const char *text, int *is_printable);

#endif
