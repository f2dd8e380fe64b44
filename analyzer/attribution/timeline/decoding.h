/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DECODING_H
#define VT_ANALYZER_DECODING_H

/*
 * Which passes read a prompt and which make one token each.
 */

#include "analyzer/attribution/calls/module_stack.h"
#include "analyzer/attribution/timeline/passes.h"

/*
 * Sets `kind` of all passes and `is_carried`; `generation` and `loops` of those in loops without a
 * frame.
 */
void vt_decoding_find(struct vt_passes *passes, const struct vt_model *model,
		      const struct vt_module_stacks *module_stacks, const struct vt_rules *rules);

#endif
