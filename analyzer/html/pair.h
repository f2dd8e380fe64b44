/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_PAIR_H
#define VT_ANALYZER_HTML_PAIR_H

/* What changed between two recordings (`vtrace diff`), as HTML that needs no script. */

#include <stdio.h>

#include "analyzer/diff/diff.h"

/* As many places are in the data of a page; more are left out, and said so. */
#define VT_PAIR_MOST_PLACES 2000

/*
 * `base` and `new`: what the columns are called.  The elements #mirror and #changes are the
 * script's.
 */
void vt_pair_print(struct vt_diff *diff, const char *base, const char *new, FILE *out);

#endif
