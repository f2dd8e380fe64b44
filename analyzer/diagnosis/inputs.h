/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_INPUTS_H
#define VT_ANALYZER_INPUTS_H

/*
 * Whether what a model was given later is as large as what the probe saw: it looks at few calls,
 * often at the first one alone, and batches and lengths change from step to step.
 */

#include "analyzer/attribution/inference/facts.h"

/*
 * Whether at `event` every live block of the place that made this input has another size than it
 * had.  0 too where nothing of that place is live, or the input's own block is not known.
 */
int vt_inputs_have_changed(const struct vt_facts *facts, const struct vt_tensor *input,
			   int64_t event);

#endif
