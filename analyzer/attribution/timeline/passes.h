/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PASSES_H
#define VT_ANALYZER_PASSES_H

/*
 * The passes that the program itself starts: each call of an outermost module's forward, or, inside
 * a loop that makes tokens, each call of a module by that loop.  A pass is seen from its first
 * event to the first behind it; two calls with no event between them count as one.
 *
 * A generation is a row of passes of one module: the first reads the prompt (prefill), each other
 * makes a token (decode step).  It is known by the frame of a function that generates or, where a
 * program wrote its own loop, by what is carried from call to call: a cache that every call
 * replaces by a larger one while the input stays as small as it was.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/calls.h"
#include "analyzer/attribution/timeline/stage_evidence.h"
#include "analyzer/attribution/calls/totals.h"

enum vt_pass_kind {
	VT_PASS_CALL,
	VT_PASS_PREFILL,
	VT_PASS_DECODE,
};

struct vt_pass {
	uint64_t module; /* identity of the instance */
	int64_t first_event;
	int64_t end_event;   /* the first event behind it; VT_NEVER: none */
	uint32_t type;	     /* string id of the class */
	uint32_t thread;
	uint32_t generation; /* from 1; 0: in none */
	uint8_t kind;	     /* enum vt_pass_kind */
	uint8_t has_autograd; /* autograd numbered nodes during it */
};

struct vt_passes {
	struct vt_pass *passes; /* by event */
	uint32_t nr;
	uint8_t *is_carried;	 /* by allocation: a cache of such a loop */
	struct vt_range *loops;	 /* generations that a program wrote itself, in order */
	uint32_t nr_loops;
	uint32_t nr_generations;
};

/* All passes are calls, and generations those that a frame shows, until decoding.h judges them. */
void vt_passes_init(struct vt_passes *passes, const struct vt_timeline *timeline,
		    const struct vt_stage_evidence *evidence, const struct vt_calls *calls);
/* Whether an allocation was made in that pass. */
int vt_pass_has(const struct vt_pass *pass, const struct vt_allocation *a);
/* Index of the pass that has it, or VT_NO_INDEX. */
uint32_t vt_passes_find(const struct vt_passes *passes, const struct vt_allocation *a);
void vt_passes_release(struct vt_passes *passes);

#endif
