/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_STAGES_TEXT_H
#define VT_ANALYZER_REPORT_STAGES_TEXT_H

/*
 * The parts of the text report that say when: stages or marks, steps, generations, calls.  Each
 * returns whether there was anything to say.
 */

#include "analyzer/report/report_sections.h"

int vt_report_stages_text_table(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out);
int vt_report_stages_text_steps(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out);
int vt_report_stages_text_calls(const struct vt_report *report, int device,
				struct vt_report_unit unit, FILE *out);

#endif
