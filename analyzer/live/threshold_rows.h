/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_THRESHOLD_ROWS_H
#define VT_ANALYZER_LIVE_THRESHOLD_ROWS_H

/*
 * What a threshold did, in the recording itself (schema.sql, table warning), beside its collector.
 */

#include "analyzer/base/diag.h"
#include "analyzer/live/thresholds.h"

/*
 * Of a program that still runs, or of the peak of one that this command ran; other recordings that
 * are finished are not changed, and where there is no database yet nothing is written.  0, or -1
 * with `diag` filled.
 */
int vt_threshold_rows_add(const struct vt_threshold_event *event, struct vt_diag *diag);

#endif
