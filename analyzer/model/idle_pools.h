/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IDLE_POOLS_H
#define VT_ANALYZER_IDLE_POOLS_H

/*
 * What stream-ordered pools, and devices for the memory nodes of graphs, keep beyond what is
 * allocated in them (import/pool_lives.h has the rules), over the events of a recording.
 */

#include "analyzer/model/model.h"

/* Fills in the model's changes.  0, or -1 with `diag` filled: the file's rows cannot be read. */
int vt_idle_pools_find(struct vt_model *model, struct vt_diag *diag);

struct vt_idle {
	uint64_t pool_bytes;
	uint64_t graph_bytes;
};

struct vt_idle vt_idle_pools_at(const struct vt_model *model, int device, int64_t event);
/* By how much they keep more on `device` after that event number than before. */
int64_t vt_idle_pools_change(const struct vt_model *model, int device, int64_t event);

#endif
