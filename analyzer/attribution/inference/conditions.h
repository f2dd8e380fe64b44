/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONDITIONS_H
#define VT_ANALYZER_CONDITIONS_H

/*
 * What rules see of an allocation, and whether a condition fits it.  What a pattern says about one
 * stack or one string is remembered: millions of allocations share some thousand of them.
 */

#include <stdint.h>

#include "analyzer/attribution/inference/facts.h"

struct vt_conditions {
	struct vt_facts *facts;
	uint32_t nr; /* of all rules */
	int8_t **memo; /* by condition, then by stack or node; 0 unknown, 1 fits, -1 does not */
	int8_t **of_frames; /* the same by code object or native frame: stacks share them */
};

void vt_conditions_init(struct vt_conditions *conditions, struct vt_facts *facts);
void vt_conditions_release(struct vt_conditions *conditions);

/* The words of a fact that hold, a bit each. */
uint32_t vt_conditions_words(const struct vt_facts *facts, const struct vt_allocation *a,
			     enum vt_fact fact);
/* Whether a condition that asks for no words fits. */
int vt_conditions_fit(struct vt_conditions *conditions, const struct vt_condition *condition,
		      const struct vt_allocation *a);
/* The words that hold, or the text; the caller frees.  NULL: nothing, or a stack. */
char *vt_conditions_fact(struct vt_conditions *conditions, const struct vt_allocation *a,
			 enum vt_fact fact);

#endif
