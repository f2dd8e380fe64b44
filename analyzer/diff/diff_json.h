/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DIFF_JSON_H
#define VT_ANALYZER_DIFF_JSON_H

/* A comparison as JSON, with what exceeded its threshold. */

#include <jansson.h>

#include "analyzer/diff/diff.h"
#include "analyzer/diff/fail_on.h"

/* The caller gives it back. */
json_t *vt_diff_json(struct vt_diff *diff, const struct vt_fail_on *thresholds,
		     unsigned nr_thresholds);

#endif
