/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FINDINGS_PRINT_H
#define VT_ANALYZER_FINDINGS_PRINT_H

/*
 * Findings as text, as JSON, and the page of one of them.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/diagnosis/findings.h"

void vt_findings_print_text(const struct vt_findings *findings, FILE *out);
json_t *vt_findings_print_json(const struct vt_findings *findings);
void vt_findings_print_page(enum vt_finding_id id, FILE *out);
void vt_findings_print_page_json(enum vt_finding_id id, FILE *out);

#endif
