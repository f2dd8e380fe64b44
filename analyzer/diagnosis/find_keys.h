/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_KEYS_H
#define VT_ANALYZER_FIND_KEYS_H

/*
 * Findings about keys and values of attention: repeated for the heads of queries, or kept in a
 * cache of more bits than needed.
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_keys_detect(struct vt_finding_context *context);

#endif
