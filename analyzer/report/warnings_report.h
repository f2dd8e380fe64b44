/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WARNINGS_REPORT_H
#define VT_ANALYZER_WARNINGS_REPORT_H

/* The thresholds that were reached while the program ran (--warn of `vtrace run` and `top`). */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/database/db.h"

/* A heading, its rows and a blank line; nothing where there are none. */
void vt_warnings_report_print(struct vt_db *db, FILE *out);
json_t *vt_warnings_report_json(struct vt_db *db);

#endif
