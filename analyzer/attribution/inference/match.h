/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MATCH_H
#define VT_ANALYZER_MATCH_H

/*
 * Puts the facts of an allocation against the rules.  Which rules are left for a site - the stacks,
 * ranges and nodes of an allocation and its free - is remembered, and which of them the facts of an
 * allocation lead to, so that a million allocations cost as much as their distinct ones.
 */

#include <stdint.h>

#include "analyzer/attribution/inference/conditions.h"
#include "analyzer/base/decisions.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"

struct vt_match_site {
	uint32_t left; /* its first in vt_match.left */
	uint32_t root; /* of what leads from an allocation's facts to its rule */
};

struct vt_match {
	struct vt_conditions conditions;
	const struct vt_rules *rules;
	/* By rule, and one more: its first of `asked`, the conditions that a site leaves open. */
	uint32_t *first_asked;
	const struct vt_condition **asked;
	const struct vt_condition **by_id; /* the same by vt_condition.id */
	struct vt_map sites;               /* site -> index into site_list */
	VT_VECTOR(struct vt_match_site) site_list;
	struct vt_decisions decisions;
	struct vt_decision_list asked_now; /* of one allocation, in order */
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

#endif
