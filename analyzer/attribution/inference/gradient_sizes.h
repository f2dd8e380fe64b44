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

struct vt_gradient_size {
	uint64_t size_bytes;
	struct vt_recompute node; /* that made it */
};

struct vt_gradient_sizes {
	struct vt_gradient_size *gradients; /* sorted */
	uint32_t nr;
};

/* Takes the rows, in any order. */
void vt_gradient_sizes_init(struct vt_gradient_sizes *twins, struct vt_gradient_size *gradients,
			    uint32_t nr);
void vt_gradient_sizes_release(struct vt_gradient_sizes *twins);

/* Whether that node made a gradient of that size. */
int vt_gradient_sizes_has_node(const struct vt_gradient_sizes *twins, uint64_t size_bytes,
		      const struct vt_recompute *node);

#endif
