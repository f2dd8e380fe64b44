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

/* The same for many events: which spans to look at, by the high bits of the event. */
struct vt_span_index {
	const struct vt_span *spans;
	uint32_t *first; /* the span of the lowest event with these bits */
	uint32_t nr_spans;
	uint32_t nr; /* of `first`; 0: there is no index */
	unsigned shift;
};

/* `spans` must stay where they are. */
void vt_spans_index_init(struct vt_span_index *index, const struct vt_span *spans,
			 uint32_t nr_spans);
void vt_spans_index_release(struct vt_span_index *index);
uint32_t vt_spans_index_find(const struct vt_span_index *index, int64_t event);

#endif
