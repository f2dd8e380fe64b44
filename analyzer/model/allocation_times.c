/* SPDX-License-Identifier: MIT */
#include "analyzer/model/allocation_times.h"

#include <stdlib.h>

#include "analyzer/base/search.h"

#define ROWS_PER_BASE 1024
/* Stands for a time that is in the list. */
#define FAR UINT32_MAX

static uint32_t near_or_far(struct vt_far_times *far, uint32_t row, int64_t time_ns,
			    int64_t since_ns)
{
	if (time_ns >= since_ns && (uint64_t)time_ns - (uint64_t)since_ns < FAR)
		return (uint32_t)(time_ns - since_ns);
	vt_vector_push(far, ((struct vt_far_time){ row, time_ns }));
	return FAR;
}

void vt_allocation_times_add(struct vt_allocation_times *times, int64_t made_ns, int64_t freed_ns)
{
	uint32_t row = (uint32_t)times->made.len;

	if (row % ROWS_PER_BASE == 0)
		vt_vector_push(&times->bases, made_ns);
	vt_vector_push(&times->made, near_or_far(&times->far_made, row, made_ns,
						 times->bases.items[row / ROWS_PER_BASE]));
	vt_vector_push(&times->freed, near_or_far(&times->far_freed, row, freed_ns, made_ns));
}

void vt_allocation_times_append(struct vt_allocation_times *times, struct vt_allocation_times *from)
{
	if (!times->made.len) {
		vt_allocation_times_release(times);
		*times = *from;
		*from = (struct vt_allocation_times){ 0 };
		return;
	}
	for (uint32_t row = 0; row < from->made.len; row++)
		vt_allocation_times_add(times, vt_allocation_times_made(from, row),
					vt_allocation_times_freed(from, row));
	vt_allocation_times_release(from);
}

static int64_t far_time(const struct vt_far_times *far, uint32_t row)
{
	return far->items[vt_search_first(i, far->len, far->items[i].row < row)].time_ns;
}

int64_t vt_allocation_times_made(const struct vt_allocation_times *times, uint32_t row)
{
	uint32_t since = times->made.items[row];

	return since == FAR ? far_time(&times->far_made, row)
			    : times->bases.items[row / ROWS_PER_BASE] + since;
}

int64_t vt_allocation_times_freed(const struct vt_allocation_times *times, uint32_t row)
{
	uint32_t since = times->freed.items[row];

	return since == FAR ? far_time(&times->far_freed, row)
			    : vt_allocation_times_made(times, row) + since;
}

void vt_allocation_times_release(struct vt_allocation_times *times)
{
	vt_vector_release(&times->bases);
	vt_vector_release(&times->made);
	vt_vector_release(&times->freed);
	vt_vector_release(&times->far_made);
	vt_vector_release(&times->far_freed);
}
