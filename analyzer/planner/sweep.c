/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/sweep.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/planner/estimate.h"
#include "analyzer/planner/load.h"
#include "analyzer/planner/validation.h"

int vt_sweep_parse(struct vt_sweep *sweep, const char *text, struct vt_diag *diag)
{
	size_t len = strcspn(text, "=");
	int id = vt_plan_settings_find(text, len);

	if (!text[len] || !text[len + 1] || id < 0) {
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--what-if %.60s: NAME=VALUE,VALUE,... with the name of an option",
			    text);
		return -1;
	}
	*sweep = (struct vt_sweep){ (enum vt_setting)id, text + len + 1 };
	return 0;
}

/* One plan with settings of its own. */
static int run_point(struct vt_plan_settings *settings, enum vt_setting id, struct vt_plan *plan,
		     struct vt_sweep_point *point, struct vt_diag *diag)
{
	int rc = vt_plan_settings_set(settings, id, point->value, diag);

	plan->settings = settings;
	if (!rc)
		rc = vt_validate_settings(settings, diag);
	if (!rc)
		rc = vt_estimate_make(plan, diag);
	point->peak = vt_plan_peak(plan);
	point->stage = plan->peak;
	vt_plan_release(plan);
	return rc;
}

int vt_sweep_run(const struct vt_sweep *sweep, const struct vt_architecture *model,
		 const struct vt_plan_settings *settings, const struct vt_gpu *gpu,
		 struct vt_sweep_points *points, struct vt_diag *diag)
{
	const char *at = sweep->values;
	struct vt_load load = { 0 };

	while (1) {
		size_t len = strcspn(at, ",");
		struct vt_sweep_point point = { .value = "" };
		struct vt_plan plan = { .model = model, .gpu = gpu, .load = &load };
		struct vt_plan_settings own = *settings;

		/* A word that is cut here is longer than any that is taken. */
		snprintf(point.value, sizeof(point.value), "%.*s", (int)(len < 31 ? len : 31), at);
		if (run_point(&own, sweep->id, &plan, &point, diag))
			return -1;
		vt_vector_push(points, point);
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

size_t vt_sweep_best(const struct vt_sweep_points *points)
{
	size_t best = 0;

	for (size_t i = 1; i < points->len; i++)
		if (points->items[i].peak < points->items[best].peak)
			best = i;
	return best;
}
