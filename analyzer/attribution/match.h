/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MATCH_H
#define VT_ANALYZER_MATCH_H

/*
 * Puts the facts of an allocation against the rules.  What a pattern says about one stack or one
 * string is remembered, so that a million allocations cost as much as their distinct stacks.
 */

#include <stdint.h>

#include "analyzer/attribution/facts.h"

struct vt_match {
	struct vt_facts *facts;
	const struct vt_rules *rules;
	int8_t **memo; /* by condition, then by stack; 0 unknown, 1 fits, -1 does not */
};

void vt_match_init(struct vt_match *match, struct vt_facts *facts);
void vt_match_release(struct vt_match *match);

/* The first rule behind `after` (NULL: of all) that fits, NULL: none. */
const struct vt_rule *vt_match_rule(struct vt_match *match, const struct vt_allocation *a,
				    const struct vt_rule *after);
/*
 * What rules see of an allocation: the words that hold, or the text; the caller frees.  NULL:
 * nothing, or a stack.
 */
char *vt_match_fact(struct vt_match *match, const struct vt_allocation *a, enum vt_fact fact);

#endif
