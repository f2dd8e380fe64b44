/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PARAMETER_CONTAINERS_H
#define VT_ANALYZER_PARAMETER_CONTAINERS_H

/*
 * Weights in containers of a program's own: dictionaries, lists and objects whose numbered parts
 * ("layers.0.wq", "layers.1.wq") hold matrices of equal shapes, at least two per part; and what
 * stands beside such a container and has a side in common with it.  Also the scores that a product
 * with the largest matrix of such a tree makes of a batch: its longer side is the vocabulary.
 *
 * What was made as zeros is no weight: caches have the same form.  So have lists of batches and
 * copies of weights: where a program trains, products must have multiplied what layers made by a
 * matrix of the container.
 */

#include <stdint.h>

#include "analyzer/attribution/dataflow/flow_kinds.h"
#include "analyzer/attribution/timeline/stages.h"
#include "analyzer/model/names.h"

struct vt_parameter_containers {
	uint8_t *is_member; /* by allocation */
	uint8_t *is_factor; /* by allocation: a member of a container that is multiplied by */
	uint8_t *is_score;  /* by allocation */
	uint8_t *is_zeros;  /* by native stack */
	uint32_t nr_native_stacks;
};

void vt_parameter_containers_init(struct vt_parameter_containers *trees,
				  const struct vt_names *names, const struct vt_flow_kinds *flow,
				  const struct vt_stages *stages);
void vt_parameter_containers_release(struct vt_parameter_containers *trees);

/* Whether the native stack runs through an operator that fills with zeros. */
int vt_parameter_containers_is_zeros(const struct vt_parameter_containers *trees,
				     uint32_t native_stack);

#endif
