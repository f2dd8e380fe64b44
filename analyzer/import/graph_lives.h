/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GRAPH_LIVES_H
#define VT_ANALYZER_GRAPH_LIVES_H

/*
 * Which executable graphs were made of which graph: memory of allocation nodes lives as long as one
 * of them.  Pure state.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

struct vt_graph_life {
	uint64_t executable;
	uint64_t graph; /* or the executable of a graph that was destroyed */
};

struct vt_graph_lives {
	VT_VECTOR(struct vt_graph_life) made;
};

void vt_graph_lives_release(struct vt_graph_lives *lives);
void vt_graph_lives_instantiate(struct vt_graph_lives *lives, uint64_t executable, uint64_t graph);

/*
 * A graph or executable graph is destroyed.  Returns the handle that memory of `handle` goes with
 * from now on, 0: there is none, the memory goes too.
 */
uint64_t vt_graph_lives_destroy(struct vt_graph_lives *lives, uint64_t handle);

#endif
