/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/util.h"
#include "analyzer/export/gzip.h"
#include "analyzer/export/kept_blocks.h"
#include "analyzer/model/when.h"

/*
 * The raw memory timeline of PyTorch's profiler (export_memory_timeline("x.raw.json.gz")): a list
 * of [time in ns, action, bytes more, category] for one device.  Readers add up what has the same
 * time, so no two events have: where the clock did not move they are 1 ns apart.
 */

/* enum Action of torch/profiler/_memory_profiler.py */
enum { CREATE = 2, DESTROY = 4 };

/* The profiler's categories, in its order, and which owners they are. */
static const struct {
	const char *owner;
	int category;
} categories[] = {
	{ "weights", 0 }, { "optimizer", 1 }, { "inputs", 2 },    { "workspace", 3 },
	{ "activations", 4 }, { "logits", 4 }, { "gradients", 5 }, { "activation gradients", 6 },
};
#define CATEGORY_UNKNOWN 7

static int category_of(const char *owner)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(categories); i++)
		if (vt_owner_path_is_below(owner, categories[i].owner,
					   strlen(categories[i].owner)))
			return categories[i].category;
	return CATEGORY_UNKNOWN;
}

/* The device that is wanted, else the one that used most. */
static int choose_device(const struct vt_writer_job *job)
{
	const struct vt_model *model = &job->analysis->model;
	const struct vt_peak *highest = NULL;

	for (uint32_t i = 0; i < model->nr_peaks; i++)
		if (!highest || model->peaks[i].used_bytes > highest->used_bytes)
			highest = &model->peaks[i];
	if (job->device != VT_WHEN_ALL_DEVICES || !highest)
		return job->device;
	return highest->device;
}

static void put_events(struct vt_writer_job *job, FILE *out)
{
	const struct vt_timeline *timeline = &job->analysis->timeline;
	struct vt_attribution *attribution = &job->analysis->attribution;
	struct vt_kept_blocks kept;
	int64_t last_ns = -1;

	vt_kept_blocks_init(&kept, job);
	for (uint32_t i = 0; i < timeline->nr && vt_writer_continues(job, i, timeline->nr); i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		int is_alloc = moment->what == VT_MOMENT_ALLOC;
		int64_t time_ns = vt_timeline_moment_time(timeline, moment);
		struct vt_verdict verdict;

		if ((!is_alloc && moment->what != VT_MOMENT_FREE) ||
		    !vt_kept_blocks_has(&kept, moment->index))
			continue;
		verdict = vt_attribution_judge(attribution, moment->index);
		time_ns = time_ns > last_ns ? time_ns : last_ns + 1;
		fprintf(out, "%s[%" PRId64 ", %d, %s%" PRIu64 ", %d]", last_ns < 0 ? "" : ", ",
			time_ns, is_alloc ? CREATE : DESTROY, is_alloc ? "" : "-",
			timeline->model->allocations[moment->index].common->size_bytes,
			category_of(vt_attribution_owner(attribution, verdict.owner)));
		last_ns = time_ns;
	}
	vt_kept_blocks_release(&kept);
}

void vt_write_memory_timeline(struct vt_writer_job *job)
{
	FILE *out = vt_gzip_open(job->out);

	job->device = choose_device(job);
	fputc('[', out);
	put_events(job, out);
	fputs("]\n", out);
	fclose(out);
}
