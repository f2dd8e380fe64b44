/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODULE_STACK_H
#define VT_ANALYZER_MODULE_STACK_H

/*
 * The modules that a Python stack runs through, innermost first ("Linear < MLP < Block"), one entry
 * per instance, and what can be said about module trees from all stacks together.  A method that
 * runs backward passes or an optimizer's steps (fit(), training_step()) is no call of its module,
 * it is the loop around such calls.
 */

#include <stdint.h>

#include "analyzer/model/model.h"
#include "analyzer/attribution/rules/rules.h"

struct vt_module_link {
	uint32_t type; /* string id of the class */
	uint64_t address;
};

struct vt_module_stacks {
	struct vt_module_link *links;
	uint32_t *
		first; /* by Python stack: index of its first link; entry nr_stacks ends the last */
	/* By Python stack: inside the one matrix product beside a token model, or as wide. */
	uint8_t *is_head;
	uint32_t nr_stacks;
};

void vt_module_stacks_init(struct vt_module_stacks *module_stacks, const struct vt_model *model,
			   const struct vt_rules *rules);
void vt_module_stacks_release(struct vt_module_stacks *module_stacks);

/* The links of one stack; *nr is 0 where there is no module. */
const struct vt_module_link *vt_module_stacks_get(const struct vt_module_stacks *module_stacks,
						  uint32_t python_stack, uint32_t *nr);

#endif
