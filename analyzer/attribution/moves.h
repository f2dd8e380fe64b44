/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MOVES_H
#define VT_ANALYZER_MOVES_H

/*
 * Which blocks Module._apply (.to(), .cuda(), .half()) made for buffers: it converts a module's
 * parameters, then their gradients, then its buffers, each at a line of its own.
 */

#include <stdint.h>

#include "analyzer/attribution/stages.h"

struct vt_moves {
	uint8_t *is_buffer; /* by Python stack */
	uint32_t nr_stacks;
};

void vt_moves_init(struct vt_moves *moves, const struct vt_stages *stages);
void vt_moves_release(struct vt_moves *moves);

int vt_moves_is_buffer(const struct vt_moves *moves, uint32_t python_stack);

#endif
