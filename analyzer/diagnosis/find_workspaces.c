/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_workspaces.h"

#include "analyzer/base/units.h"
#include "analyzer/replay/cublas_workspace.h"

_Static_assert(VT_CUBLAS_WORKSPACE_BYTES == 8.125 * VT_MIB, "finding_table.def has the number");

/* Of the highest use; a workspace makes products faster, so it may cost something. */
#define WORKSPACES_SHARE 0.05

static int is_size_chosen(const struct vt_finding_context *context)
{
	char *value = vt_db_run_get(context->model->db, "env:CUBLAS_WORKSPACE_CONFIG");
	int is_chosen = value && *value;

	free(value);
	return is_chosen;
}

void vt_find_workspaces_detect(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint32_t first = VT_NO_INDEX, nr = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (!vt_finding_context_has(context, i, VT_OWNERS_CUBLAS) ||
		    a->common->size_bytes <= VT_CUBLAS_WORKSPACE_BYTES)
			continue;
		vt_savings_add(&savings, a, a->common->size_bytes - VT_CUBLAS_WORKSPACE_BYTES);
		if (!vt_allocation_is_live(a, context->event))
			continue;
		first = first == VT_NO_INDEX ? i : first;
		bytes += a->common->size_bytes;
		nr++;
	}
	if ((double)bytes < WORKSPACES_SHARE * (double)context->peak_bytes ||
	    is_size_chosen(context)) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(context, VT_FINDING_LIBRARY_WORKSPACES, &savings, first,
			       vt_xasprintf("%s in %u block%s", all, nr, nr == 1 ? "" : "s"));
}
