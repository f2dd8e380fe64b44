/* SPDX-License-Identifier: MIT */
#include "analyzer/base/decisions.h"

/* Answers that hardly repeat are not worth more memory. */
#define MOST_NODES (1u << 20)

static uint32_t new_node(struct vt_decisions *decisions)
{
	vt_vector_push(&decisions->nodes, ((struct vt_decision_node){ VT_DECISIONS_NEW, 0 }));
	return (uint32_t)decisions->nodes.len - 1;
}

uint32_t vt_decisions_root(struct vt_decisions *decisions)
{
	if (!decisions->edges.len)
		vt_vector_push(&decisions->edges, ((struct vt_decision_edge){ 0 }));
	return new_node(decisions);
}

void vt_decisions_release(struct vt_decisions *decisions)
{
	vt_vector_release(&decisions->nodes);
	vt_vector_release(&decisions->edges);
}

static uint32_t add_edge(struct vt_decisions *decisions, uint32_t node, uint32_t answer)
{
	uint32_t to = new_node(decisions);
	struct vt_decision_edge edge = { answer, to, decisions->nodes.items[node].result };

	decisions->nodes.items[node].result = (uint32_t)decisions->edges.len;
	vt_vector_push(&decisions->edges, edge);
	return to;
}

void vt_decisions_add(struct vt_decisions *decisions, uint32_t root, const struct vt_decision *list,
		      size_t nr, uint32_t result)
{
	uint32_t node = root;

	if (decisions->nodes.len + nr > MOST_NODES)
		return;
	for (size_t i = 0; i < nr; i++) {
		uint32_t next;

		decisions->nodes.items[node].asked = list[i].question;
		next = vt_decisions_next(decisions, node, list[i].answer);
		node = next == VT_DECISIONS_NONE ? add_edge(decisions, node, list[i].answer) : next;
	}
	decisions->nodes.items[node] = (struct vt_decision_node){ VT_DECISIONS_RESULT, result };
}
