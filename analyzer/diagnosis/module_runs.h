/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODULE_RUNS_H
#define VT_ANALYZER_MODULE_RUNS_H

/*
 * Which module trees ran: those of which a forward is on some recorded stack.  A tree is named by
 * the variable that its root was found in ("train.py: model", string id), modules in it by paths.
 */

#include "analyzer/base/map.h"
#include "analyzer/diagnosis/finding_context.h"

struct vt_module_runs {
	uint8_t is_known;    /* 0: no module is known to have run, or code hides which did */
	struct vt_map paths; /* of what ran and of what that lies in, by variable */
	struct vt_map likes; /* live parameters and buffers of what ran, by name and shape */
};

void vt_module_runs_init(struct vt_module_runs *runs, const struct vt_finding_context *context);
void vt_module_runs_release(struct vt_module_runs *runs);

/* Whether the module with the first `len` characters of a path ran; 0 characters: its root. */
int vt_module_runs_has(const struct vt_module_runs *runs, uint32_t holder, const char *path,
		       size_t len);
/* Whether a module that ran has something of that name, or of its end, with that shape. */
int vt_module_runs_is_like(const struct vt_module_runs *runs, const struct vt_model *model,
			   const struct vt_tensor *tensor);

/* The parameter or buffer that an allocation was last seen to be; NULL: none. */
const struct vt_tensor *vt_module_runs_row(const struct vt_finding_context *context,
					   uint32_t allocation);
/* "model" of "train.py: model"; NULL: unknown. */
const char *vt_module_runs_variable(const struct vt_model *model, uint32_t holder);

#endif
