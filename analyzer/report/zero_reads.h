/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ZERO_READS_H
#define VT_ANALYZER_ZERO_READS_H

/*
 * Of a simulated run that ended with an error: the lines that last read values from the device,
 * which were zeros since no kernel ran.  One of them may be why it failed.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/report/report.h"

/* Nothing where there are none: it did not fail, or ran out of memory since. */
void vt_zero_reads_print(const struct vt_report *report, FILE *out);
/* The last one first; empty where nothing is printed. */
json_t *vt_zero_reads_json(const struct vt_report *report);

#endif
