/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_CHANGES_H
#define VT_ANALYZER_REPORT_CHANGES_H

/*
 * What owners gained and lost between two books, in a line.
 */

#include "analyzer/report/report_sections.h"

/*
 * "weights 7.29, buffers 1.41" where nothing was before (books of event 0), else "+ activations
 * 16.52 (mlp 9.00, norm 5.00, attention 2.52), - inputs 0.01": the largest changes of parent
 * owners, each with the largest of its leaves.  Empty where nothing changed.  free().
 */
char *vt_report_changes_text(const struct vt_books *before, const struct vt_books *after,
			     struct vt_report_unit unit);

#endif
