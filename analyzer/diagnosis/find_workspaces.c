/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_workspaces.h"

#include "analyzer/base/units.h"

/* Two pieces of 4096 KiB and eight of 16: what PyTorch takes where it knows nothing better. */
#define SMALL_BYTES 8519680
/* Of the highest use; a workspace makes products faster, so it may cost something. */
#define WORKSPACES_SHARE 0.05

static int is_size_chosen(const struct vt_scene *scene)
{
	char *value = vt_db_run_get(scene->model->db, "env:CUBLAS_WORKSPACE_CONFIG");
	int is_chosen = value && *value;

	free(value);
	return is_chosen;
}

void vt_find_workspaces_detect(struct vt_scene *scene)
{
	struct vt_reliefs reliefs = { 0 };
	uint32_t first = VT_NO_INDEX, nr = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	for (uint32_t i = 0; i < scene->model->nr_allocations; i++) {
		const struct vt_allocation *a = &scene->model->allocations[i];

		if (a->device != scene->device || !vt_allocation_is_owned(a) ||
		    a->size_bytes <= SMALL_BYTES ||
		    !vt_scene_is_owner(scene, i, "workspace/cublas"))
			continue;
		vt_reliefs_add(&reliefs, a, a->size_bytes - SMALL_BYTES);
		if (!vt_allocation_is_live(a, scene->event))
			continue;
		first = first == VT_NO_INDEX ? i : first;
		bytes += a->size_bytes;
		nr++;
	}
	if ((double)bytes < WORKSPACES_SHARE * (double)scene->peak_bytes || is_size_chosen(scene)) {
		vt_vector_release(&reliefs);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	vt_scene_add(scene, VT_FINDING_LIBRARY_WORKSPACES, &reliefs, first,
		     vt_xasprintf("%s in %u of them", all, nr));
}
