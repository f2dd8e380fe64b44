/* SPDX-License-Identifier: MIT */
/* What the node of the backward pass that released an allocation did besides. */
#include "analyzer/attribution/inference/facts.h"

#include "analyzer/base/search.h"

/* Allocations of other threads between two of a node: those of a step of many threads. */
#define MOST_BETWEEN 4096

static int is_gradient_like(const struct vt_facts *facts, const struct vt_allocation *made,
			    const struct vt_allocation *a)
{
	return made->common->size_bytes == a->common->size_bytes &&
	       (vt_facts_lifetimes(facts, made) & 1u << VT_LIFETIME_AFTER_BACKWARD);
}

/* The next allocation on the node's thread in that direction; NULL: another node made it. */
static const struct vt_allocation *next_of_node(const struct vt_facts *facts,
						const struct vt_allocation *a, uint32_t *index,
						uint32_t direction)
{
	const struct vt_caller *node = a->common->freed;

	uint32_t left = MOST_BETWEEN;

	/* Below 0 lies UINT32_MAX. */
	for (*index += direction; *index < facts->model->nr_allocations && left;
	     *index += direction, left--) {
		const struct vt_allocation *made = &facts->model->allocations[*index];
		const struct vt_caller *by = made->common->made;

		if (by->thread == node->thread)
			return made->node_sequence == a->freed_node_sequence &&
					       by->node_class == node->node_class &&
					       by->forward_python_stack ==
						       node->forward_python_stack
				       ? made
				       : NULL;
	}
	return NULL;
}

/*
 * Whether the node made a gradient of the size of what it released: a function that people wrote
 * may compute a gradient in its forward, and only scale it in its backward.  A node runs on one
 * thread, without a break: what it made is next to what it released.
 */
static int has_twin(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_allocation *all = facts->model->allocations, *made;
	uint32_t first, at;

	first = (uint32_t)vt_search_first(i, facts->model->nr_allocations,
					  all[i].event < a->freed_event);
	for (at = first; (made = next_of_node(facts, a, &at, UINT32_MAX));)
		if (is_gradient_like(facts, made, a))
			return 1;
	for (at = first - 1; (made = next_of_node(facts, a, &at, 1));)
		if (is_gradient_like(facts, made, a))
			return 1;
	return 0;
}

uint32_t vt_facts_releasers(const struct vt_facts *facts, const struct vt_allocation *a)
{
	const struct vt_recompute node = { a->freed_node_sequence, a->common->freed->node_class,
					   a->common->freed->forward_python_stack };
	uint32_t bits = 0;

	if (!a->common->freed->node_class)
		return 0;
	if (vt_recomputes_has(&facts->recomputes, &node))
		bits |= 1u << VT_RELEASER_RECOMPUTING;
	if (has_twin(facts, a))
		bits |= 1u << VT_RELEASER_SAME_SIZE;
	return bits;
}
