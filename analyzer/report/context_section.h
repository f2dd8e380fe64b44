/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONTEXT_SECTION_H
#define VT_ANALYZER_CONTEXT_SECTION_H

/* What the context of a device consists of, as far as it is known; analysis/context_parts.h. */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/report/report.h"

/* Of the moment of the device's table; nothing where it did not grow and no limit was set. */
void vt_context_section_print(const struct vt_report *report, const struct vt_report_device *row,
			      FILE *out);
json_t *vt_context_section_json(const struct vt_report *report, const struct vt_report_device *row);

#endif
