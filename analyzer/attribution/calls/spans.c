/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/spans.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"
#include "analyzer/model/model.h"

/* So that most entries lead to one span, or to two. */
#define ENTRIES_PER_SPAN 4

uint32_t vt_spans_find(const struct vt_span *spans, uint32_t nr_spans, int64_t event)
{
	uint32_t low = vt_search_first(i, nr_spans, spans[i].last_event < event);

	if (low == nr_spans)
		return low ? low - 1 : VT_NO_INDEX;
	return low;
}

void vt_spans_index_init(struct vt_span_index *index, const struct vt_span *spans,
			 uint32_t nr_spans)
{
	size_t most = ENTRIES_PER_SPAN * (size_t)nr_spans + 1;
	uint32_t span = 0;

	memset(index, 0, sizeof(*index));
	index->spans = spans;
	index->nr_spans = nr_spans;
	if (!nr_spans || spans[nr_spans - 1].last_event < 0)
		return;
	while ((uint64_t)spans[nr_spans - 1].last_event >> index->shift >= most)
		index->shift++;
	index->nr = (uint32_t)(spans[nr_spans - 1].last_event >> index->shift) + 1;
	index->first = vt_xcalloc((size_t)index->nr + 1, sizeof(*index->first));
	for (uint32_t i = 0; i < index->nr; i++) {
		while (spans[span].last_event < (int64_t)i << index->shift)
			span++;
		index->first[i] = span;
	}
	index->first[index->nr] = nr_spans - 1;
}

void vt_spans_index_release(struct vt_span_index *index)
{
	free(index->first);
	memset(index, 0, sizeof(*index));
}

uint32_t vt_spans_index_find(const struct vt_span_index *index, int64_t event)
{
	uint64_t entry = (uint64_t)event >> index->shift;
	uint32_t low, high;

	/* An event below 0, too: without its sign it lies behind all. */
	if (entry >= index->nr)
		return vt_spans_find(index->spans, index->nr_spans, event);
	low = index->first[entry];
	high = index->first[entry + 1];
	return low + (uint32_t)vt_search_first(i, high - low,
					       index->spans[low + i].last_event < event);
}
