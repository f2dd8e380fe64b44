/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CAUSES_H
#define VT_ANALYZER_CAUSES_H

/*
 * Why the caching allocator gave memory back to the driver, from the stack of that call.  PyTorch's
 * wheels keep their symbols; without them the Python frame of torch.cuda.empty_cache still tells.
 */

#include <stdint.h>

#include "analyzer/model/model.h"

enum vt_cause {
	VT_CAUSE_UNKNOWN,
	VT_CAUSE_EMPTY_CACHE,
	VT_CAUSE_REQUEST,    /* the driver had nothing left */
	VT_CAUSE_COLLECTION, /* garbage_collection_threshold */
};

enum vt_cause vt_causes_find(const struct vt_model *model, uint32_t native_stack,
			     uint32_t python_stack);

#endif
