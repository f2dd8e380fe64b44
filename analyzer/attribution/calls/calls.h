/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CALLS_H
#define VT_ANALYZER_CALLS_H

/*
 * Calls of outermost modules: from the first event below a module's method to the first event on
 * that thread which is not.  Two calls of one module with no event between them count as one.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/module_stack.h"
#include "analyzer/model/timeline.h"

struct vt_call {
	uint64_t module; /* identity of the instance */
	int64_t first_event;
	int64_t end_event; /* the first event behind it; VT_NEVER: none */
	/* The numbers that autograd gave during it: after the first, up to the last. */
	uint64_t sequence_before;
	uint64_t last_sequence;
	uint32_t type; /* string id of the class */
	uint32_t thread;
	uint32_t ordinal; /* counts the calls of that instance */
	uint8_t has_autograd; /* autograd numbered new nodes during it */
};

/* A place in the program (Python stack) at which the n-th call of its module allocated. */
struct vt_call_place {
	uint32_t python_stack;
	uint32_t ordinal;
};

/* What the calls say of an allocation: one for each, so it is small. */
struct vt_call_of {
	uint32_t call : 29;	    /* index into calls; there are no more than allocations */
	uint32_t is_numbered : 1;   /* the first since autograd numbered a node */
	uint32_t is_unrecorded : 1; /* autograd recorded, but not its operator */
	uint32_t is_before : 1;	    /* in a call that autograd had numbered nothing of */
};

struct vt_calls {
	struct vt_call *calls; /* the first is "none" */
	uint32_t nr;
	struct vt_call_of *by_allocation;
	struct vt_call_place *places; /* sorted */
	uint32_t nr_places;
};

void vt_calls_init(struct vt_calls *calls, const struct vt_timeline *timeline,
		   const struct vt_module_stacks *module_stacks);
void vt_calls_release(struct vt_calls *calls);

/* The call in which an allocation (index in the model) was made; NULL: in none. */
const struct vt_call *vt_calls_find(const struct vt_calls *calls, uint32_t allocation);
/*
 * Whether autograd numbered a node on that thread since the allocation before: the node is that of
 * the operator which made this one, or of one that made nothing.
 */
int vt_calls_is_numbered(const struct vt_calls *calls, uint32_t allocation);
/*
 * Whether autograd recorded operators there, but had not numbered a node since the line before made
 * something: the operator of this line computed nothing of what has a gradient ("torch.ones").
 */
int vt_calls_is_unrecorded(const struct vt_calls *calls, uint32_t allocation);
/* Whether it was made in a call of which autograd had numbered nothing up to then. */
int vt_calls_is_before(const struct vt_calls *calls, uint32_t allocation);
/* Whether one of the module's next calls, or of those before, allocated at the same place. */
int vt_calls_is_again(const struct vt_calls *calls, uint32_t allocation, uint32_t python_stack);

#endif
