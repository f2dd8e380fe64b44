/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_MODULES_H
#define VT_ANALYZER_FIND_MODULES_H

/* Modules on the device of which no forward ran. */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_modules_detect(struct vt_finding_context *context);

#endif
