/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/device_use.h"

#include <stdlib.h>

#include "analyzer/base/util.h"
#include "analyzer/model/idle_pools.h"
#include "analyzer/model/samples.h"
#include "analyzer/model/timeline.h"

static struct vt_device_use use_at_peak(const struct vt_timeline *timeline,
					const struct vt_peak *peak)
{
	int64_t time_ns = vt_timeline_time(timeline, peak->event);
	struct vt_outside outside = vt_samples_at(timeline->model, peak->device, time_ns);

	return (struct vt_device_use){
		.device = peak->device,
		.has_context = outside.has_context,
		.peak_bytes = peak->used_bytes + vt_samples_sum(&outside),
		.context_bytes = outside.context_bytes,
		.other_bytes = outside.other_bytes,
		.rounding_bytes = outside.rounding_bytes,
	};
}

int vt_device_use_read(struct vt_device_use **uses, struct vt_db *db, struct vt_diag *diag)
{
	struct vt_timeline timeline = { 0 };
	struct vt_model model;
	int nr = -1;

	*uses = NULL;
	if (!vt_model_load_device_use(&model, db, diag) && !vt_idle_pools_find(&model, diag)) {
		vt_timeline_init(&timeline, &model);
		vt_samples_find(&model);
		*uses = vt_xcalloc(model.nr_peaks + 1, sizeof(**uses));
		for (nr = 0; nr < (int)model.nr_peaks; nr++)
			(*uses)[nr] = use_at_peak(&timeline, &model.peaks[nr]);
		vt_timeline_release(&timeline);
	}
	vt_model_release(&model);
	return nr;
}

struct vt_device_use vt_device_use_highest(struct vt_db *db)
{
	struct vt_device_use *uses, highest = { 0 };
	struct vt_diag unsaid = { 0 };
	int nr = vt_device_use_read(&uses, db, &unsaid);

	for (int i = 0; i < nr; i++)
		if (uses[i].peak_bytes > highest.peak_bytes)
			highest = uses[i];
	free(uses);
	return highest;
}
