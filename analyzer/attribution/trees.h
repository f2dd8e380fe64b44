/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TREES_H
#define VT_ANALYZER_TREES_H

/*
 * Weights in containers of a program's own: dictionaries, lists and objects whose numbered parts
 * ("layers.0.wq", "layers.1.wq") hold matrices of equal shapes, at least two per part; and what
 * stands beside such a container and has a side in common with it.  Also the scores that a product
 * with the largest matrix of such a tree makes of a batch: its longer side is the vocabulary.
 *
 * What was made as zeros is no weight: caches have the same form.
 */

#include <stdint.h>

#include "analyzer/attribution/stages.h"
#include "analyzer/model/names.h"

struct vt_trees {
	uint8_t *is_member; /* by allocation */
	uint8_t *is_score;  /* by allocation */
	uint8_t *is_zeros;  /* by native stack */
	uint32_t nr_native_stacks;
};

void vt_trees_init(struct vt_trees *trees, const struct vt_names *names,
		   const struct vt_stages *stages);
void vt_trees_release(struct vt_trees *trees);

/* Whether the native stack runs through an operator that fills with zeros. */
int vt_trees_is_zeros(const struct vt_trees *trees, uint32_t native_stack);

#endif
