/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SPANS_H
#define VT_ANALYZER_SPANS_H

/*
 * A recording cut into pieces without gaps, each of one stage.
 */

#include <stdint.h>

struct vt_span {
	int64_t first_event;
	int64_t last_event; /* the next span starts behind it */
	uint32_t step;	    /* from 1; 0 = none */
	uint8_t stage;	    /* enum vt_stage */
};

/* Index of the span that holds `event`; VT_NO_INDEX where there are no spans. */
uint32_t vt_spans_find(const struct vt_span *spans, uint32_t nr_spans, int64_t event);

#endif
