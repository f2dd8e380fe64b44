/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/step_noise.h"

#include "analyzer/base/util.h"
#include "analyzer/diff/live.h"
#include "analyzer/model/folded.h"
#include "analyzer/report/report_iterations.h"

/* The first two steps make optimizer states and workspaces. */
#define WARM_UP_STEPS 2

/* Steps that lie further apart are different steps (longer sequences), not noise. */
#define NOISE_SHARE 0.005

struct pass {
	const struct vt_analysis *analysis;
	int device;
	uint64_t asked_bytes; /* live now */
	uint64_t *peaks;      /* by step */
	uint32_t span;	      /* of the moment */
};

static void add(struct pass *pass, const struct vt_moment *moment)
{
	const struct vt_allocation *a;
	uint64_t asked;

	if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
		return;
	a = &pass->analysis->model.allocations[moment->index];
	if (a->common->device != pass->device || !vt_allocation_is_owned(a))
		return;
	asked = vt_changes_asked(&pass->analysis->traces, a);
	pass->asked_bytes += moment->what == VT_MOMENT_ALLOC ? asked : -asked;
}

/* 0: of no step that counts. */
static uint32_t step_at(struct pass *pass, int64_t event)
{
	const struct vt_stages *stages = &pass->analysis->stages;
	const struct vt_span *span;

	while (pass->span + 1 < stages->nr_spans && stages->spans[pass->span].last_event < event)
		pass->span++;
	span = &stages->spans[pass->span];
	if (span->step <= WARM_UP_STEPS || span->step > stages->steps.nr ||
	    !stages->steps.steps[span->step - 1].is_complete ||
	    !vt_report_iterations_is_trained_in(span->stage))
		return 0;
	return span->step;
}

static void find_peaks(struct pass *pass)
{
	const struct vt_timeline *timeline = &pass->analysis->timeline;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		uint32_t event = vt_moment_event(timeline->model, moment);
		uint32_t step;

		add(pass, moment);
		if (!vt_folded_is_known(&pass->analysis->model.folded, event))
			continue;
		step = step_at(pass, event);
		if (pass->asked_bytes > pass->peaks[step])
			pass->peaks[step] = pass->asked_bytes;
	}
}

uint64_t vt_step_noise_of(const struct vt_analysis *analysis, int device)
{
	const struct vt_stages *stages = &analysis->stages;
	struct pass pass = { .analysis = analysis, .device = device };
	uint64_t low = UINT64_MAX, high = 0;

	if (stages->steps.nr <= WARM_UP_STEPS)
		return 0;
	pass.peaks = vt_xcalloc((size_t)stages->steps.nr + 1, sizeof(*pass.peaks));
	find_peaks(&pass);
	for (uint32_t step = WARM_UP_STEPS + 1; step <= stages->steps.nr; step++) {
		if (!stages->steps.steps[step - 1].is_complete)
			continue;
		low = pass.peaks[step] < low ? pass.peaks[step] : low;
		high = pass.peaks[step] > high ? pass.peaks[step] : high;
	}
	free(pass.peaks);
	return high > low && (double)(high - low) <= NOISE_SHARE * (double)high ? high - low : 0;
}
