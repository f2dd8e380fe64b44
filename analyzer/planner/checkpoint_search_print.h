/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHECKPOINT_SEARCH_PRINT_H
#define VT_ANALYZER_CHECKPOINT_SEARCH_PRINT_H

#include <stdio.h>

#include "analyzer/planner/checkpoint_search.h"

void vt_checkpoint_search_print_text(const struct vt_checkpoint_search *fitting, FILE *out);
void vt_checkpoint_search_print_json(const struct vt_checkpoint_search *fitting, FILE *out);

#endif
