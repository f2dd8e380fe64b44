/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLAN_REPLAY_H
#define VT_ANALYZER_PLAN_REPLAY_H

/*
 * A plan, played to PyTorch's caching allocator: parameters as they are loaded; of each layer what
 * it keeps, as it comes forward and goes backward; two steps of training, or a forward and the
 * tokens behind it.  What tensors there are is what the terms' formulas add up.
 *
 * What an operator has for itself while it runs is no term, and so is not played.
 */

#include "analyzer/planner/owners.h"
#include "analyzer/planner/plan.h"

struct vt_plan_replay {
	/* 0: a plan whose tensors are not those of one device and its model, or are too many */
	int is_played;
	uint64_t reserved_bytes;  /* at most */
	uint64_t allocated_bytes; /* at most: blocks, with the ends that are not split off */
	/* Of those: what blocks have beyond what was asked for, by owner. */
	struct vt_owner_sums ends;
};

/* Zero-initialised before, vt_plan_replay_release() after. */
void vt_plan_replay_run(struct vt_plan_replay *replay, const struct vt_plan *plan);
void vt_plan_replay_release(struct vt_plan_replay *replay);

#endif
