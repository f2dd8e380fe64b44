/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_BEYOND_BLOCKS_H
#define VT_ANALYZER_HTML_BEYOND_BLOCKS_H

/*
 * What the report says of no block, in the report's own lines: the parts of the context, and where
 * a simulated program read zeros before it failed.
 */

#include <stdio.h>

#include "analyzer/report/report.h"

/* A section each; nothing where the report says nothing. */
void vt_beyond_blocks_zeros(const struct vt_report *report, FILE *out);
void vt_beyond_blocks_context(const struct vt_report *report, FILE *out);

#endif
