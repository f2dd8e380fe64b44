/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/spans.h"
#include "analyzer/base/search.h"

#include "analyzer/model/model.h"

uint32_t vt_spans_find(const struct vt_span *spans, uint32_t nr_spans, int64_t event)
{
	uint32_t low = vt_search_first(i, nr_spans, spans[i].last_event < event);

	if (low == nr_spans)
		return low ? low - 1 : VT_NO_INDEX;
	return low;
}
