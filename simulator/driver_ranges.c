/* SPDX-License-Identifier: MIT */
#include "simulator/driver_ranges.h"

#include "simulator/driver_size.h"

#include <stdlib.h>
#include <string.h>

/* Index of the first one that starts at or after ADDRESS. */
static size_t lower_bound(const struct vts_ranges *ranges, CUdeviceptr address)
{
	size_t low = 0, high = ranges->nr_items;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct vts_range *vts_ranges_find(const struct vts_ranges *ranges, CUdeviceptr address)
{
	size_t index = lower_bound(ranges, address);
	struct vts_range *range;

	if (index < ranges->nr_items && ranges->items[index].start == address)
		return &ranges->items[index];
	if (!index)
		return NULL;
	range = &ranges->items[index - 1];
	return address - range->start < range->size_bytes ? range : NULL;
}

struct vts_range *vts_ranges_find_start(const struct vts_ranges *ranges, CUdeviceptr start)
{
	struct vts_range *range = vts_ranges_find(ranges, start);

	return range && range->start == start ? range : NULL;
}

int vts_ranges_insert(struct vts_ranges *ranges, const struct vts_range *range)
{
	size_t index = lower_bound(ranges, range->start);
	struct vts_range *items = ranges->items;

	if (index && items[index - 1].start + items[index - 1].span_bytes > range->start)
		return -1;
	if (index < ranges->nr_items && range->start + range->span_bytes > items[index].start)
		return -1;
	if (ranges->nr_items == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;

		items = realloc(items, capacity * sizeof(*items));
		if (!items)
			return -1;
		ranges->items = items;
		ranges->capacity = capacity;
	}
	memmove(items + index + 1, items + index, (ranges->nr_items - index) * sizeof(*items));
	items[index] = *range;
	ranges->nr_items++;
	return 0;
}

void vts_ranges_remove(struct vts_ranges *ranges, struct vts_range *range)
{
	size_t index = (size_t)(range - ranges->items);

	ranges->nr_items--;
	memmove(range, range + 1, (ranges->nr_items - index) * sizeof(*range));
}

CUdeviceptr vts_ranges_first_fit(const struct vts_ranges *ranges, CUdeviceptr low,
				 CUdeviceptr high, uint64_t size_bytes, uint64_t alignment)
{
	CUdeviceptr place = vts_size_round_up(low, alignment);

	for (size_t i = lower_bound(ranges, low); i < ranges->nr_items; i++) {
		const struct vts_range *range = &ranges->items[i];

		if (place + size_bytes <= range->start)
			break;
		if (range->start >= high)
			break;
		place = vts_size_round_up(range->start + range->span_bytes, alignment);
	}
	return place + size_bytes <= high ? place : 0;
}
