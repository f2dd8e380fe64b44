/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SHAPES_H
#define VT_ANALYZER_SHAPES_H

/*
 * The exact sizes that things of this run have, from the shapes of what a probe saw: with V rows
 * and h columns in an embedding, i other sides of h-sided matrices, and inputs of b x T tokens,
 * logits are b*T*V elements, a hidden state b*T*h, an intermediate one b*T*i, scores of attention
 * b*a*T*T, all of 2 or 4 bytes; and parameters have the sizes that they have.
 *
 * Equal sizes prove little: rules may only break ties with them.
 */

#include "analyzer/attribution/rules/rules.h"
#include "analyzer/model/model.h"

struct vt_shape_size {
	uint64_t size_bytes; /* as the allocator rounds it */
	uint32_t classes;    /* bit per enum vt_shape_class */
};

struct vt_shapes {
	struct vt_shape_size *sizes; /* sorted */
	uint32_t nr;
};

void vt_shapes_init(struct vt_shapes *shapes, const struct vt_model *model,
		    const struct vt_rules *rules);
void vt_shapes_release(struct vt_shapes *shapes);

/* Bit per enum vt_shape_class: what has exactly that size. */
uint32_t vt_shapes_of_size(const struct vt_shapes *shapes, uint64_t size_bytes);
/* ... of all sizes that may have been asked for with that block. */
uint32_t vt_shapes_classes(const struct vt_shapes *shapes, const struct vt_model *model,
			   const struct vt_allocation *a);

#endif
