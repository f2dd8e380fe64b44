/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VALIDATION_H
#define VT_ANALYZER_VALIDATION_H

/*
 * Settings of which no plan is made: each alone is one, together or for that model they make no
 * sense.
 */

#include "analyzer/base/diag.h"
#include "analyzer/planner/architecture.h"
#include "analyzer/planner/plan_settings.h"

/* Whatever the model is.  0, or -1 with `diag` filled (exit code 2). */
int vt_validate_settings(const struct vt_plan_settings *settings, struct vt_diag *diag);

/* Of settings that the other one lets pass.  0, or -1 with `diag` filled (exit code 2). */
int vt_validate_model(const struct vt_plan_settings *settings,
		      const struct vt_architecture *model, struct vt_diag *diag);

/* Whether one layer of the text takes what each other one does. */
int vt_validate_has_like_layers(const struct vt_architecture *model);

/* Where nobody gave one, a sequence is not longer than the model's table of positions. */
void vt_validate_usual_length(struct vt_plan_settings *settings,
			      const struct vt_architecture *model);

#endif
