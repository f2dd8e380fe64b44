/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIMITS_H
#define VT_ANALYZER_LIMITS_H

/*
 * What a recording cannot show, for any command: a line each, printed as "note: LINE" after a
 * table, or as "notes" of a JSON object.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/model/describe.h"

/* Without frameworks or Python; vt_lines_free(). */
struct vt_lines vt_limits_of_kinds(const struct vt_analysis *analysis);

/* "ended out of memory", "was killed", "is still running"; NULL: it ended with exit code 0. */
const char *vt_limits_ending(const struct vt_analysis *analysis);

/*
 * Why the recording has not all that the program would have taken: it ended, not well, before two
 * steps of training did.  NULL: nothing says so.  To be freed.
 */
char *vt_limits_unfinished(const struct vt_analysis *analysis);
/* What of a replay that served so many of the requests that failed is not known.  To be freed. */
char *vt_limits_rescued(uint32_t nr_rescued);

/* "lost: LINE", then "note: LINE". */
void vt_limits_print(const struct vt_analysis *analysis, FILE *out);
/* The two halves. */
void vt_limits_print_losses(const struct vt_analysis *analysis, FILE *out);
void vt_limits_print_notes(const struct vt_analysis *analysis, FILE *out);
/* Both as one array. */
json_t *vt_limits_json(const struct vt_analysis *analysis);

#endif
