/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_TOP_OPTIONS_H
#define VT_ANALYZER_LIVE_TOP_OPTIONS_H

#include <stdint.h>

/* What of a recording `vtrace top` shows. */
struct vt_top_options {
	int64_t window_s; /* what "grew" looks back */
	unsigned top;     /* places */
	unsigned nr_rows; /* owners at most; 0: all */
};

#endif
