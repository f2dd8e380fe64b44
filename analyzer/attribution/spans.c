/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/spans.h"

#include "analyzer/model/model.h"

uint32_t vt_spans_find(const struct vt_span *spans, uint32_t nr_spans, int64_t event)
{
	uint32_t low = 0, high = nr_spans;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (spans[middle].last_event < event)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == nr_spans)
		return low ? low - 1 : VT_NO_INDEX;
	return low;
}
