/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/ranges.h"

#include <string.h>

#include "analyzer/base/search.h"

static size_t first_ending_from(const struct vt_ranges *ranges, uint64_t address)
{
	return vt_search_first(i, ranges->len, ranges->items[i].end < address);
}

/* Puts `nr` ranges in the place of those from `first` to before `last`. */
static void replace(struct vt_ranges *ranges, size_t first, size_t last,
		    const struct vt_range *news, size_t nr)
{
	vt_vector_reserve(ranges, ranges->len + nr);
	memmove(ranges->items + first + nr, ranges->items + last,
		(ranges->len - last) * sizeof(*ranges->items));
	if (nr)
		memcpy(ranges->items + first, news, nr * sizeof(*news));
	ranges->len += nr;
	ranges->len -= last - first;
}

void vt_ranges_add(struct vt_ranges *ranges, uint64_t start, uint64_t end)
{
	size_t first = first_ending_from(ranges, start), last = first;
	struct vt_range range = { start, end };

	if (start >= end)
		return;
	for (; last < ranges->len && ranges->items[last].start <= end; last++) {
		if (ranges->items[last].start < range.start)
			range.start = ranges->items[last].start;
		if (ranges->items[last].end > range.end)
			range.end = ranges->items[last].end;
	}
	replace(ranges, first, last, &range, 1);
}

void vt_ranges_remove(struct vt_ranges *ranges, uint64_t start, uint64_t end)
{
	size_t first = first_ending_from(ranges, start + 1), last = first, nr = 0;
	struct vt_range rest[2];

	if (start >= end)
		return;
	while (last < ranges->len && ranges->items[last].start < end)
		last++;
	if (first == last)
		return;
	if (ranges->items[first].start < start)
		rest[nr++] = (struct vt_range){ ranges->items[first].start, start };
	if (ranges->items[last - 1].end > end)
		rest[nr++] = (struct vt_range){ end, ranges->items[last - 1].end };
	replace(ranges, first, last, rest, nr);
}

void vt_ranges_missing(const struct vt_ranges *ranges, uint64_t start, uint64_t end,
		       struct vt_ranges *missing)
{
	for (size_t i = first_ending_from(ranges, start + 1); start < end; i++) {
		uint64_t stop = i < ranges->len && ranges->items[i].start < end ?
					ranges->items[i].start : end;

		if (stop > start)
			vt_vector_push(missing, ((struct vt_range){ start, stop }));
		start = i < ranges->len ? ranges->items[i].end : end;
	}
}
