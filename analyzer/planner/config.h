/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONFIG_H
#define VT_ANALYZER_CONFIG_H

/*
 * A Hugging Face config.json, or a preset in its form, to an architecture.
 */

#include <jansson.h>

#include "analyzer/base/diag.h"
#include "analyzer/planner/architecture.h"

/*
 * `where` names the text in messages.  0, or -1 with `diag` filled (exit code 3): no JSON, no
 * object, a size that is missing, no whole number, zero or absurd.
 */
int vt_config_read(struct vt_architecture *model, const char *text, size_t len, const char *where,
		   struct vt_diag *diag);
int vt_config_from_json(struct vt_architecture *model, const json_t *config, const char *where,
			struct vt_diag *diag);

#endif
