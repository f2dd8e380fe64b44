/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GRADIENT_SIZES_H
#define VT_ANALYZER_GRADIENT_SIZES_H

/*
 * Sizes of gradients: of everything that a node of a backward pass made and that outlived the pass.
 * What is as large as one, to the byte, may be the parameter that it is the gradient of, or that
 * parameter's state.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/recomputes.h"

struct vt_gradient_sizes {
	const struct vt_model *model;
	uint32_t *gradients; /* allocations, sorted by size, then by the node that made them */
	uint32_t nr;
};

/* Takes the indices of `nr` gradients in the model, in any order. */
void vt_gradient_sizes_init(struct vt_gradient_sizes *sizes, const struct vt_model *model,
			    uint32_t *gradients, uint32_t nr);
void vt_gradient_sizes_release(struct vt_gradient_sizes *sizes);

/* Whether that node made a gradient of that size. */
int vt_gradient_sizes_has_node(const struct vt_gradient_sizes *sizes, uint64_t size_bytes,
			       const struct vt_recompute *node);

#endif
