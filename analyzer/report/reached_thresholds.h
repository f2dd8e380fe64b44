/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REACHED_THRESHOLDS_H
#define VT_ANALYZER_REACHED_THRESHOLDS_H

/* The thresholds that were reached while the program ran (--warn of `vtrace run` and `top`). */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/database/db.h"

/* A heading, its rows and a blank line; nothing where there are none. */
void vt_reached_thresholds_print(struct vt_db *db, FILE *out);
json_t *vt_reached_thresholds_json(struct vt_db *db);

#endif
