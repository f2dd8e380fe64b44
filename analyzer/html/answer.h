/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_ANSWER_H
#define VT_ANALYZER_HTML_ANSWER_H

/*
 * What took most memory, when, and which line of the program: of one moment, the one that the page
 * shows first unless it was asked for another.
 */

#include "analyzer/html/head.h"

/* Of the run's highest moment. */
void vt_answer_print(const struct vt_page_head *head);
/* Of the failed request, of whose explanation it is a part (oom_head.h). */
void vt_answer_print_failed(const struct vt_page_head *head);

/* "step 3, forward, Linear, at 524 ms" */
void vt_answer_print_place(const struct vt_peak_context *place, FILE *out);

#endif
