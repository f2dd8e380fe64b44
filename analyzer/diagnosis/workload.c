/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/workload.h"
#include "analyzer/base/search.h"

/* Of the first stretch: below that, iterations are alike. */
#define LEAST_GROWTH 0.1

uint32_t vt_workload_stretch(const int64_t *points, uint32_t nr, int64_t event)
{
	uint32_t low = vt_search_first(i, nr + 1, points[i] < event);

	return low >= 1 && low <= nr ? low - 1 : VT_NO_INDEX;
}

struct vt_workload vt_workload_measure(const struct vt_model *model, const int64_t *points,
				       uint32_t nr)
{
	struct vt_workload workload = { .nr = nr };

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		uint32_t stretch = vt_workload_stretch(points, nr, a->event);

		if (stretch != VT_NO_INDEX && vt_allocation_is_owned(a))
			workload.made_bytes[stretch] += a->common->size_bytes;
	}
	return workload;
}

int vt_workload_is_growing(const struct vt_workload *workload, const uint64_t *without_bytes)
{
	uint64_t rest[VT_TREND_MAX_POINTS];
	uint32_t nr = workload->nr;

	for (uint32_t i = 0; i < nr; i++)
		rest[i] = workload->made_bytes[i] - without_bytes[i];
	return vt_trend_find(rest, nr).confidence != VT_CONFIDENCE_NONE &&
	       (double)(rest[nr - 1] - rest[0]) > LEAST_GROWTH * (double)rest[0];
}
