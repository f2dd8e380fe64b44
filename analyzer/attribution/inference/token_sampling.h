/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TOKEN_SAMPLING_H
#define VT_ANALYZER_TOKEN_SAMPLING_H

/*
 * Scores of tokens in programs without modules that train nothing: when the program chooses
 * (argmax, multinomial, ...), the last matrix product before it made the scores, provided that no
 * product of that pass made more; and so did what lies between the two and is as long.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/operators.h"
#include "analyzer/attribution/timeline/stages.h"

struct vt_token_sampling {
	uint8_t *is_score; /* by allocation */
	uint32_t nr;       /* choices among scores */
};

void vt_token_sampling_init(struct vt_token_sampling *choices, const struct vt_stages *stages,
		     const struct vt_rules *rules, struct vt_operators *operators);
void vt_token_sampling_release(struct vt_token_sampling *choices);

#endif
