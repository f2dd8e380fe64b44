/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODULE_APPLY_H
#define VT_ANALYZER_MODULE_APPLY_H

/*
 * Which blocks Module._apply (.to(), .cuda(), .half()) made for buffers: it converts a module's
 * parameters, then their gradients, then its buffers, each at a separate line.
 */

#include <stdint.h>

#include "analyzer/attribution/timeline/stages.h"

struct vt_module_apply {
	uint8_t *is_buffer; /* by Python stack */
	uint32_t nr_stacks;
};

void vt_module_apply_init(struct vt_module_apply *moves, const struct vt_stages *stages);
void vt_module_apply_release(struct vt_module_apply *moves);

int vt_module_apply_is_buffer(const struct vt_module_apply *moves, uint32_t python_stack);

#endif
