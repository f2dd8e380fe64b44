/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/failed_request.h"

#include "analyzer/model/site.h"

uint32_t vt_failed_request_find_like(const struct vt_describe *describe,
				     const struct vt_out_of_memory *oom)
{
	const struct vt_model *model = describe->model;
	const struct vt_producer wanted = vt_producer_of_failed(model, oom);
	uint64_t site = vt_site_of_producer(describe, &wanted);
	uint32_t found = VT_NO_INDEX;

	for (uint32_t i = model->nr_allocations; i-- > 0;) {
		const struct vt_allocation *a = &model->allocations[i];
		int is_same_call = a->made->native_stack == oom->native_stack;

		if (a->event > oom->event || !vt_allocation_is_owned(a) ||
		    a->made->node_class != oom->node_class ||
		    (!is_same_call && found != VT_NO_INDEX) || vt_site_of(describe, a) != site)
			continue;
		found = i;
		if (is_same_call)
			break;
	}
	return found;
}
