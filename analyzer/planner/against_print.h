/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_AGAINST_PRINT_H
#define VT_ANALYZER_AGAINST_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "analyzer/planner/against.h"

void vt_against_print_text(const struct vt_against *against, FILE *out);
/* The object "against" of --json. */
json_t *vt_against_print_json(const struct vt_against *against);

#endif
