/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/moments.h"

#include <string.h>

#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/base/numbers.h"

/* Of the spans that are looked at; one of the two is "none" (VT_NR_STAGES, 0). */
struct wanted {
	unsigned stage;
	uint32_t step;
};

static int is_wanted(const struct vt_span *span, int64_t event, const void *context)
{
	const struct wanted *wanted = context;

	(void)event;
	return span->stage == wanted->stage || (wanted->step && span->step == wanted->step);
}

int vt_moments_find_highest(const struct vt_stages *stages, int device, vt_moments_fn is_looked_at,
			    const void *context, struct vt_highest *highest)
{
	const struct vt_timeline *timeline = stages->timeline;
	struct vt_totals totals = { 0 };
	uint32_t span = 0;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		int64_t event = vt_moment_event(timeline->model, moment);

		vt_timeline_add(timeline, moment, device, &totals);
		while (span < stages->nr_spans && stages->spans[span].last_event < event)
			span++;
		if (span == stages->nr_spans)
			break;
		if (stages->spans[span].first_event > event ||
		    !vt_timeline_is_instant(timeline, moment) ||
		    !is_looked_at(&stages->spans[span], event, context))
			continue;
		if (highest->span && totals.allocated_bytes <= highest->allocated_bytes)
			continue;
		*highest = (struct vt_highest){ totals.allocated_bytes, event,
						&stages->spans[span] };
	}
	return highest->span ? 0 : -1;
}

static int find_highest(const struct vt_stages *stages, const struct wanted *wanted, int device,
			int64_t *event)
{
	const struct vt_model *model = stages->timeline->model;
	struct vt_highest highest = { 0 };

	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (device == VT_WHEN_ALL_DEVICES || model->devices[i].id == device)
			vt_moments_find_highest(stages, model->devices[i].id, is_wanted, wanted,
						&highest);
	*event = highest.event;
	return highest.span ? 0 : -1;
}

static int find_stage(const struct vt_stages *stages, const char *name, int device, int64_t *event,
		      struct vt_diag *diag)
{
	struct wanted wanted = { 0 };

	while (wanted.stage < VT_NR_STAGES &&
	       strcmp(vt_evidence_stages[wanted.stage], name) != 0)
		wanted.stage++;
	if (wanted.stage == VT_NR_STAGES) {
		vt_diag_set(diag, VT_EXIT_USAGE, "stage:%s: unknown stage", name);
		return -1;
	}
	if (!find_highest(stages, &wanted, device, event))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no stage \"%s\" in this run",
		    vt_db_path(stages->timeline->model->db), name);
	return -1;
}

static int find_step(const struct vt_stages *stages, const char *text, int device, int64_t *event,
		     struct vt_diag *diag)
{
	struct wanted wanted = { .stage = VT_NR_STAGES };
	int64_t number;

	if (vt_numbers_parse(text, UINT32_MAX, &number) || !number) {
		vt_diag_set(diag, VT_EXIT_USAGE, "step:%s: not a step number", text);
		return -1;
	}
	wanted.step = (uint32_t)number;
	if (!find_highest(stages, &wanted, device, event))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no step %u; the run has %u",
		    vt_db_path(stages->timeline->model->db), wanted.step, stages->steps.nr);
	return -1;
}

int vt_moments_resolve(const struct vt_stages *stages, const char *text, int device,
		       int64_t *event, struct vt_diag *diag)
{
	static const char stage[] = "stage:", step[] = "step:";
	int rc;

	if (strncmp(text, stage, strlen(stage)) == 0)
		return find_stage(stages, text + strlen(stage), device, event, diag);
	if (strncmp(text, step, strlen(step)) == 0)
		return find_step(stages, text + strlen(step), device, event, diag);
	rc = vt_when_resolve(stages->timeline->model, text, device, event, diag);
	if (rc > 0)
		vt_diag_set(diag, VT_EXIT_USAGE, "\"%s\" is not a moment; use %s", text,
			    VT_MOMENTS_WORDS);
	return rc ? -1 : 0;
}
