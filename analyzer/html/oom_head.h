/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_OOM_HEAD_H
#define VT_ANALYZER_HTML_OOM_HEAD_H

/*
 * What failed, what held most then, and what would have served it, before anything else on the page
 * of such a run: `vtrace oom` as HTML.
 */

#include "analyzer/html/head.h"

/* Nothing where no request failed. */
void vt_oom_head_print(const struct vt_page_head *head);

#endif
