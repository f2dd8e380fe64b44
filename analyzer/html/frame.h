/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_FRAME_H
#define VT_ANALYZER_HTML_FRAME_H

/* What every page begins and ends with: its policy, its style, its script. */

#include <stdio.h>

/* Up to the body; the title is text, not markup. */
void vt_frame_begin(FILE *out, const char *title);
void vt_frame_end(FILE *out);

#endif
