/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_WORKSPACES_H
#define VT_ANALYZER_FIND_WORKSPACES_H

/* The finding about what libraries keep for themselves. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_workspaces_detect(struct vt_finding_context *context);

#endif
