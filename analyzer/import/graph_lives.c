/* SPDX-License-Identifier: MIT */
#include "analyzer/import/graph_lives.h"

void vt_graph_lives_release(struct vt_graph_lives *lives)
{
	vt_vector_release(&lives->made);
}

static void remove_at(struct vt_graph_lives *lives, size_t at)
{
	lives->made.items[at] = lives->made.items[--lives->made.len];
}

void vt_graph_lives_instantiate(struct vt_graph_lives *lives, uint64_t executable, uint64_t graph)
{
	vt_vector_push(&lives->made, ((struct vt_graph_life){ executable, graph }));
}

uint64_t vt_graph_lives_destroy(struct vt_graph_lives *lives, uint64_t handle)
{
	uint64_t heir = 0;

	for (size_t i = 0; i < lives->made.len; i++)
		if (lives->made.items[i].executable == handle) {
			remove_at(lives, i);
			return 0;
		}
	for (size_t i = lives->made.len; i-- > 0;) {
		struct vt_graph_life *life = &lives->made.items[i];

		if (life->graph != handle)
			continue;
		if (heir) {
			life->graph = heir;
		} else {
			heir = life->executable;
			remove_at(lives, i);
		}
	}
	return heir;
}
