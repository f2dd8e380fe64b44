/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_OOM_HEAD_H
#define VT_ANALYZER_HTML_OOM_HEAD_H

/* Why a request failed, before anything else on the page of such a run: `vtrace oom` as HTML. */

#include <stdio.h>

#include "analyzer/html/sources.h"
#include "analyzer/report/oom.h"

/* Nothing where no request failed. */
void vt_oom_head_print(const struct vt_oom *oom, struct vt_sources *sources, FILE *out);

#endif
