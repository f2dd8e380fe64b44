/* SPDX-License-Identifier: MIT */
#include "analyzer/export/kept_blocks.h"

#include <inttypes.h>

#include "analyzer/base/util.h"
#include "analyzer/model/lifetimes.h"

/* What is chosen from: `is_kept` are those that need no choice. */
struct choosing {
	const struct vt_writer_job *job;
	const uint8_t *is_kept;
};

static int is_chosen_from(uint32_t allocation, const void *context)
{
	const struct choosing *choosing = context;
	const struct vt_allocation *a =
		&choosing->job->analysis->model.allocations[allocation];

	return vt_allocation_is_owned(a) && a->event <= choosing->job->event &&
	       vt_writer_has_device(choosing->job, a->common->device) &&
	       !choosing->is_kept[allocation];
}

/* The event after which most is allocated on a device. */
static int64_t find_highest(const struct vt_writer_job *job, int device)
{
	const struct vt_timeline *timeline = &job->analysis->timeline;
	struct vt_totals totals = { 0 };
	uint32_t end = vt_timeline_after(timeline, job->event);
	uint64_t most = 0;
	int64_t event = 0;

	for (uint32_t i = 0; i < end; i++) {
		vt_timeline_add(timeline, &timeline->moments[i], device, &totals);
		if (totals.allocated_bytes <= most ||
		    !vt_timeline_is_instant(timeline, &timeline->moments[i]))
			continue;
		most = totals.allocated_bytes;
		event = vt_moment_event(timeline->model, &timeline->moments[i]);
	}
	return event;
}

/* Keeps what is live after that event on a device; returns how many there are. */
static uint32_t keep_live(struct vt_kept_blocks *kept, const struct choosing *choosing, int device,
			  int64_t event)
{
	const struct vt_model *model = &choosing->job->analysis->model;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->device == device &&
		    vt_allocation_is_live(&model->allocations[i], event) &&
		    is_chosen_from(i, choosing)) {
			kept->is_kept[i] = 1;
			nr++;
		}
	return nr;
}

static void keep_all(struct vt_kept_blocks *kept, const struct choosing *choosing)
{
	for (uint32_t i = 0; i < choosing->job->analysis->model.nr_allocations; i++)
		kept->is_kept[i] |= (uint8_t)is_chosen_from(i, choosing);
}

void vt_kept_blocks_init(struct vt_kept_blocks *kept, struct vt_writer_job *job)
{
	const struct vt_model *model = &job->analysis->model;
	uint32_t nr = 0, nr_all = 0, nr_left_out = 0;
	struct choosing choosing = { .job = job };
	double least;

	choosing.is_kept = kept->is_kept = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		nr_all += (uint32_t)is_chosen_from(i, &choosing);
	if (job->is_whole || nr_all <= VT_KEPT_BLOCKS_MOST) {
		keep_all(kept, &choosing);
		return;
	}
	for (uint32_t i = 0; i < model->nr_devices; i++) {
		int device = model->devices[i].id;

		nr += keep_live(kept, &choosing, device, find_highest(job, device));
		nr += keep_live(kept, &choosing, device, job->event);
	}
	least = vt_lifetimes_least(model, VT_KEPT_BLOCKS_MOST > nr ? VT_KEPT_BLOCKS_MOST - nr : 0,
				   is_chosen_from, &choosing);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		if (!is_chosen_from(i, &choosing))
			continue;
		kept->is_kept[i] = vt_lifetimes_area(model, &model->allocations[i]) >= least;
		nr_left_out += !kept->is_kept[i];
	}
	job->left_out = vt_xasprintf("%u of %u blocks are left out, those of fewest bytes for the"
				     " shortest time; the peak has all of its blocks",
				     nr_left_out, nr_all);
}

void vt_kept_blocks_release(struct vt_kept_blocks *kept)
{
	free(kept->is_kept);
}
