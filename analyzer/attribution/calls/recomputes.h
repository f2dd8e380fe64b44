/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RECOMPUTES_H
#define VT_ANALYZER_RECOMPUTES_H

/*
 * Nodes of the backward pass under which a forward ran again: activation checkpointing written as
 * an autograd function, whoever wrote it.  What such a node was kept waiting with is what the
 * forward starts from.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/module_stack.h"
#include "analyzer/model/model.h"

/* Sequence numbers count per thread: the stack at which it was made tells nodes apart, too. */
struct vt_recompute {
	uint32_t sequence;
	uint32_t node_class;
	uint32_t forward_python_stack;
};

struct vt_recomputes {
	struct vt_recompute *nodes; /* sorted */
	uint32_t nr;
};

void vt_recomputes_init(struct vt_recomputes *recomputes, const struct vt_model *model,
			const struct vt_module_stacks *module_stacks);
void vt_recomputes_release(struct vt_recomputes *recomputes);

int vt_recomputes_has(const struct vt_recomputes *recomputes, const struct vt_recompute *node);

#endif
