/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MASTER_WEIGHTS_H
#define VT_ANALYZER_MASTER_WEIGHTS_H

/*
 * Weights that a program keeps once more in twice the width, to update those, with all that belongs
 * to them: one line of the program made as many blocks as there are gradients, each twice as large
 * as one of them, and they live to the end.  Zeros are state of the optimizer; where there is such
 * state, the first other copies, made before any gradient was, are what it belongs to.  A copy
 * without state of its width is none: weights are averaged that way as well.
 */

#include "analyzer/attribution/inference/facts.h"

/* Gradients of one size on one device. */
struct vt_gradient_class {
	uint64_t size_bytes;
	int64_t first_event; /* when the first was made */
	uint32_t most;       /* of one backward pass */
	uint32_t nr_weights;
	int16_t device;
	uint8_t has_rest; /* the size is that of a block with a rest */
};

/* Adds to facts->functional_updates. */
void vt_master_weights_find(struct vt_facts *facts, const struct vt_gradient_class *classes,
		     uint32_t nr_classes);

/*
 * What an optimizer updates a copy of (a bit of enum vt_thing), as one vector for all weights: the
 * shards of ZeRO, in single precision and of no module, where modules train half precision
 * throughout.  0: it is none.
 */
uint32_t vt_master_weights_flat(const struct vt_facts *facts, const struct vt_allocation *a);

#endif
