/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LINES_H
#define VT_ANALYZER_LINES_H

#include <stdio.h>

#include "analyzer/base/util.h"

/* The first `most` of `lines`, which are freed; then how many more there are, and `hint`. */
void vt_lines_print(struct vt_lines lines, unsigned most, const char *indent, const char *hint,
		    FILE *out);

#endif
