/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GRAPH_LIFETIMES_H
#define VT_ANALYZER_GRAPH_LIFETIMES_H

/*
 * How long the blocks of a pass would live if autograd kept nothing: a tensor goes when the last
 * variable or argument that has it goes.  Variables are not recorded, so there are two answers.
 *
 * The likely one: when the last operator that reads it is done, or the module that it was handed to
 * returns; where operators were not observed, when the next but one module begins.  The latest one:
 * when the module returns whose forward has it in its frame, or when the same line has made the
 * next; the likely one where the line that made it is the one that uses it up.
 */

#include "analyzer/diagnosis/finding_context.h"

struct vt_graph_lifetimes {
	const struct vt_finding_context *context;
	uint64_t *lines;       /* by Python stack: hash of its lines, for any instances */
	uint32_t *last_reader; /* by allocation: index of an operator call, or VT_NO_INDEX */
	const struct vt_pass *pass;
	const uint32_t *blocks; /* what the pass made, in order of events; borrowed */
	uint32_t nr;
	uint32_t *next_same; /* by block: the next that the same line made; `nr`: none, VT_NO_INDEX:
				a list has them all */
};

void vt_graph_lifetimes_init(struct vt_graph_lifetimes *lifetimes,
			     const struct vt_finding_context *context);
void vt_graph_lifetimes_release(struct vt_graph_lifetimes *lifetimes);

/* Turns to the `nr` blocks of one pass. */
void vt_graph_lifetimes_see(struct vt_graph_lifetimes *lifetimes, const struct vt_pass *pass,
			    const uint32_t *blocks, uint32_t nr);

/* The event that ends the block with that number in the pass. */
int64_t vt_graph_lifetimes_likely(const struct vt_graph_lifetimes *lifetimes, uint32_t at);
int64_t vt_graph_lifetimes_latest(const struct vt_graph_lifetimes *lifetimes, uint32_t at);

#endif
