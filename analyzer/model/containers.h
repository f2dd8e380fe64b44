/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONTAINERS_H
#define VT_ANALYZER_CONTAINERS_H

/*
 * Finds for every block the driver memory it lies in, by address at the moment of the allocation,
 * and so which driver memory belongs to a framework's caching allocator.  Fills
 * vt_allocation.container and .holds_blocks, vt_model.segments and .spills.
 */

#include "analyzer/model/model.h"

void vt_containers_find(struct vt_model *model);

#endif
