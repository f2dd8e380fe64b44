/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DECISIONS_H
#define VT_ANALYZER_DECISIONS_H

/*
 * Decision trees that grow as they are used.  Where a result follows from answers, each question
 * asked because of the answers before it, the same answers lead to it again without finding out
 * what to ask.  Zero-initialised memory has none.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

/* A question and its answer, on the way to a result. */
struct vt_decision {
	uint32_t question;
	uint32_t answer;
};

VT_VECTOR_DECLARE(vt_decision_list, struct vt_decision);

struct vt_decision_node {
	uint32_t asked;  /* question, or VT_DECISIONS_RESULT, or VT_DECISIONS_NEW */
	uint32_t result; /* or the first edge, 0: none */
};

struct vt_decision_edge {
	uint32_t answer;
	uint32_t node;
	uint32_t next; /* index; 0: none */
};

struct vt_decisions {
	VT_VECTOR(struct vt_decision_node) nodes;
	VT_VECTOR(struct vt_decision_edge) edges; /* the first is none */
};

#define VT_DECISIONS_RESULT UINT32_MAX
#define VT_DECISIONS_NEW    (UINT32_MAX - 1)
#define VT_DECISIONS_NONE   UINT32_MAX

/* The root of a new tree, of which nothing is known. */
uint32_t vt_decisions_root(struct vt_decisions *decisions);
void vt_decisions_release(struct vt_decisions *decisions);

/* What is asked at a node. */
static inline uint32_t vt_decisions_asked(const struct vt_decisions *decisions, uint32_t node)
{
	return decisions->nodes.items[node].asked;
}

static inline uint32_t vt_decisions_result(const struct vt_decisions *decisions, uint32_t node)
{
	return decisions->nodes.items[node].result;
}

/* Where an answer leads to; VT_DECISIONS_NONE: it was not given yet. */
static inline uint32_t vt_decisions_next(const struct vt_decisions *decisions, uint32_t node,
					 uint32_t answer)
{
	uint32_t edge = decisions->nodes.items[node].result;

	while (edge && decisions->edges.items[edge].answer != answer)
		edge = decisions->edges.items[edge].next;
	return edge ? decisions->edges.items[edge].node : VT_DECISIONS_NONE;
}

/* The answers that led to a result, all of them from the root on. */
void vt_decisions_add(struct vt_decisions *decisions, uint32_t root, const struct vt_decision *list,
		      size_t nr, uint32_t result);

#endif
