/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ATTENTION_SCORES_H
#define VT_ANALYZER_ATTENTION_SCORES_H

/*
 * Which blocks are scores of attention for pairs of tokens: what the product of queries and keys
 * made, what is computed of it by element up to the product with the values, and the gradients of
 * these.  Known from the operators that were observed, and for other steps by place and size; or,
 * where none were, by a size that nothing else has.
 */

#include "analyzer/diagnosis/finding_context.h"

/* By allocation; to be freed. */
uint8_t *vt_attention_scores_find(const struct vt_finding_context *context);

#endif
