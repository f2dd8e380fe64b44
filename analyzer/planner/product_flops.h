/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PRODUCT_FLOPS_H
#define VT_ANALYZER_PRODUCT_FLOPS_H

/*
 * FLOPs of the products with weights that a recorded forward did, from the sizes of what operators
 * were given and returned: two for each element of the weight and row.  Products of activations
 * with each other (attention's scores) are left out: a recording has no shapes of these.
 */

#include "analyzer/attribution/inference/facts.h"
#include "analyzer/base/util.h"

struct vt_product {
	uint32_t allocation; /* the result */
	double flops;
};

VT_VECTOR_DECLARE(vt_product_flops, struct vt_product);

/*
 * Of the first forward span in which operators were observed.  *products is zeroed before; release
 * with vt_vector_release.
 */
void vt_product_flops_find(struct vt_product_flops *products, const struct vt_facts *facts);

#endif
