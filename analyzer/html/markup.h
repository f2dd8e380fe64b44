/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_MARKUP_H
#define VT_ANALYZER_HTML_MARKUP_H

/*
 * Text of a recording inside of HTML: it never becomes markup, and what would reorder or hide the
 * text around it (bidirectional controls, zero-width characters) is shown as its number.
 */

#include <stdint.h>
#include <stdio.h>

/* As the content of an element or of a quoted attribute; NULL is nothing. */
void vt_markup_text(FILE *out, const char *text);
/* Which line of the program called the library whose line is above it; NULL is nothing. */
void vt_markup_caller(const char *line, FILE *out);
/* "62.97 GiB", with the exact number for a mouse and for scripts. */
void vt_markup_bytes(FILE *out, uint64_t bytes);

#endif
