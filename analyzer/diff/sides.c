/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/sides.h"

#include <malloc.h>
#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/limits.h"
#include "analyzer/attribution/moments.h"
#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"
#include "analyzer/diff/step_noise.h"
#include "analyzer/model/samples.h"

/* Of the allocator that cut segments into blocks on the device. */
static uint64_t segment_of(const struct vt_analysis *analysis, int device)
{
	const struct vt_model *model = &analysis->model;
	const struct vt_settings *settings = &analysis->traces.settings;

	/* Settings that nobody knows say nothing of segments. */
	if (analysis->traces.are_misread || !settings->is_native)
		return 0;
	for (uint32_t i = 0; i < model->nr_segments; i++)
		if (model->allocations[model->segments[i].allocation].common->device == device)
			return settings->is_expandable ? vt_settings_granule(settings, 0)
						       : settings->large_segment_bytes;
	return 0;
}

/* What is read of one device. */
struct reading {
	struct vt_side *side;
	struct vt_side_device *device;
	enum vt_changes_by by;
};

static void read_live(struct vt_side *side, struct vt_side_device *device, enum vt_changes_by by)
{
	const struct vt_changes_side live = { .analysis = &side->analysis,
					      .describe = &side->describe,
					      .device = device->device,
					      .event = device->event };

	vt_books_init(&device->books, &side->analysis.attribution, device->device, device->event);
	vt_changes_gather(&device->live, &live, by);
}

/* Of the whole run, and of its moment: neither needs the other. */
static void read_run_or_live(void *context, size_t number)
{
	const struct reading *reading = context;
	struct vt_side_device *device = reading->device;

	if (number)
		read_live(reading->side, device, reading->by);
	else
		device->noise_bytes = vt_step_noise_of(&reading->side->analysis, device->device);
}

static int read_device(struct vt_side *side, const struct vt_peak *peak,
		       const struct vt_sides_options *options, struct vt_diag *diag)
{
	struct vt_analysis *analysis = &side->analysis;
	struct vt_side_device *device = &side->devices[side->nr_devices++];
	struct reading reading = { side, device, options->by };

	device->device = peak->device;
	device->peak_bytes =
		vt_samples_process_used(&analysis->model, peak->device, peak->used_bytes,
					vt_timeline_time(&analysis->timeline, peak->event));
	device->most_allocated_bytes = vt_model_most_allocated(peak);
	if (vt_moments_resolve(&analysis->stages, options->when, peak->device, &device->event,
			       diag))
		return -1;
	device->doing = vt_stages_doing(&analysis->stages, device->event);
	device->segment_bytes = segment_of(analysis, peak->device);
	vt_parallel_run(2, read_run_or_live, &reading);
	return 0;
}

/* Only the blocks that were gathered stay, under new numbers. */
static void keep_live(struct vt_side *side)
{
	struct vt_model *model = &side->analysis.model;
	struct vt_allocation *kept;
	uint32_t nr = 0;

	for (uint32_t d = 0; d < side->nr_devices; d++)
		nr += (uint32_t)side->devices[d].live.len;
	kept = vt_xcalloc((size_t)nr + 1, sizeof(*kept));
	nr = 0;
	for (uint32_t d = 0; d < side->nr_devices; d++)
		for (size_t i = 0; i < side->devices[d].live.len; i++) {
			uint32_t *index = &side->devices[d].live.items[i].allocation;

			kept[nr] = model->allocations[*index];
			*index = nr++;
		}
	free(model->allocations);
	model->allocations = kept;
	model->nr_allocations = nr;
}

static int has_failed(struct vt_db *db)
{
	char *ended = vt_db_run_get(db, "ended");
	int is_failed = vt_ended_has_failed(ended);

	free(ended);
	return is_failed;
}

int vt_sides_open(struct vt_side *side, const char *path, const struct vt_sides_options *options,
		  struct vt_diag *diag)
{
	struct vt_analysis *analysis = &side->analysis;
	const struct vt_model *model = &analysis->model;
	int rc;

	memset(side, 0, sizeof(*side));
	rc = vt_analysis_open(analysis, path, options->rules, diag);
	if (rc)
		return rc;
	side->is_unfinished = vt_limits_ending(analysis) != NULL;
	side->has_failed = has_failed(analysis->db);
	vt_describe_init(&side->describe, model, options->has_all_frames);
	side->devices = vt_xcalloc((size_t)model->nr_peaks + 1, sizeof(*side->devices));
	for (uint32_t i = 0; i < model->nr_peaks && !rc; i++)
		if (options->device == VT_WHEN_ALL_DEVICES ||
		    options->device == model->peaks[i].device)
			rc = read_device(side, &model->peaks[i], options, diag);
	if (rc)
		return rc;
	keep_live(side);
	vt_analysis_shed(analysis);
	/* Else what lay between things that stay is kept for nobody. */
	malloc_trim(0);
	return 0;
}

void vt_sides_close(struct vt_side *side)
{
	for (uint32_t d = 0; d < side->nr_devices; d++) {
		vt_books_release(&side->devices[d].books);
		vt_changes_live_release(&side->devices[d].live);
		free(side->devices[d].doing);
	}
	free(side->devices);
	vt_describe_release(&side->describe);
	vt_analysis_close(&side->analysis);
	memset(side, 0, sizeof(*side));
}

const struct vt_side_device *vt_sides_device(const struct vt_side *side, int device)
{
	for (uint32_t d = 0; d < side->nr_devices; d++)
		if (side->devices[d].device == device)
			return &side->devices[d];
	return NULL;
}
