/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LM_HEADS_H
#define VT_ANALYZER_LM_HEADS_H

/*
 * Where the logits are, in autograd's own numbering: for every loss the stretch of sequence numbers
 * from the last matrix product before it (the vocabulary head) to the loss itself.  What was made
 * in that stretch of a forward is the head's output, its casts and copies and the log-softmax; what
 * nodes of that stretch make in the backward pass are the gradients of those.
 *
 * The line of a module that is the head of one loss is the head whenever it runs: without autograd,
 * and where its results are put together before the loss.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/operators.h"
#include "analyzer/attribution/timeline/stages.h"
#include "analyzer/base/map.h"

struct vt_lm_head_range {
	uint64_t product;
	uint64_t loss;
	int64_t product_event; /* when its operator ran, VT_NEVER: it left no allocation */
	uint32_t step;
	uint8_t how; /* enum vt_lm_head */
};

struct vt_lm_heads {
	struct vt_lm_head_range *stretches; /* by step, then by product */
	uint32_t nr;
	struct vt_map places; /* of products that are heads */
	uint8_t *is_product;  /* by native stack */
};

void vt_lm_heads_init(struct vt_lm_heads *heads, const struct vt_stages *stages,
		   const struct vt_rules *rules, struct vt_operators *operators);
void vt_lm_heads_release(struct vt_lm_heads *heads);

/* Whether it is what a product made at a place that is a head's. */
int vt_lm_heads_is_at_head(const struct vt_lm_heads *heads, const struct vt_stages *stages,
			const struct vt_allocation *a);

/* The stretch that holds a sequence number, NULL: none. */
const struct vt_lm_head_range *vt_lm_heads_find(const struct vt_lm_heads *heads, uint32_t step,
					    uint64_t sequence);

#endif
