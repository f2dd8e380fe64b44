/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MATCH_H
#define VT_ANALYZER_MATCH_H

/*
 * Puts the facts of an allocation against the rules.  What a pattern says about one stack or one
 * string is remembered, and which rules are left for a site - the stacks, ranges and nodes of an
 * allocation and its free - so that a million allocations cost as much as their distinct sites.
 */

#include <stdint.h>

#include "analyzer/attribution/inference/facts.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"

struct vt_match {
	struct vt_facts *facts;
	const struct vt_rules *rules;
	int8_t **memo; /* by condition, then by stack or node; 0 unknown, 1 fits, -1 does not */
	int8_t **of_frames; /* the same by code object or native frame: stacks share them */
	/* By rule, and one more: its first of `asked`, the conditions that a site leaves open. */
	uint32_t *first_asked;
	const struct vt_condition **asked;
	struct vt_map sites;         /* site -> its first in `left` */
	VT_VECTOR(uint32_t) left;    /* numbers of rules, each site's in order and VT_NO_INDEX */
	struct vt_map workspaces;    /* site -> whether it makes a library's workspace */
};

void vt_match_init(struct vt_match *match, struct vt_facts *facts);
void vt_match_release(struct vt_match *match);

/* The first rule behind `after` (NULL: of all) that fits, NULL: none. */
const struct vt_rule *vt_match_rule(struct vt_match *match, const struct vt_allocation *a,
				    const struct vt_rule *after);
/*
 * Whether its stacks alone, before anything is known of gradients and steps, show that it is what a
 * library or an operator works with.
 */
int vt_match_is_workspace(struct vt_match *match, const struct vt_allocation *a);
/*
 * What rules see of an allocation: the words that hold, or the text; the caller frees.  NULL:
 * nothing, or a stack.
 */
char *vt_match_fact(struct vt_match *match, const struct vt_allocation *a, enum vt_fact fact);

#endif
