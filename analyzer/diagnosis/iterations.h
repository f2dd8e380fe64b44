/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ITERATIONS_H
#define VT_ANALYZER_ITERATIONS_H

/*
 * The rounds of a program that does the same thing again and again, to be compared with each other:
 * what it holds at the end of one that it did not hold at the end of the last, it piles up.
 */

#include <stdint.h>

#include "analyzer/attribution/timeline/stages.h"

/* X(name, word, plural): the first of which there is any is what counts. */
#define VT_ITERATIONS(X)                                                                           \
	X(STEP, "step", "steps")                   /* training steps that ended */                 \
	X(GENERATION, "generation", "generations") /* prompts that were answered in full */        \
	X(MARK, "mark", "marks")                   /* the mark that the program left most often */ \
	X(CALL, "call", "calls")                   /* of the module that is called most often */   \
	X(SLICE, "slice", "slices")                /* of equal time: nothing else is known */

#define VT_ITERATIONS_ENUM(name, word, plural) VT_ITERATION_##name,
enum vt_iteration_kind { VT_ITERATIONS(VT_ITERATIONS_ENUM) VT_NR_ITERATION_KINDS };
#undef VT_ITERATIONS_ENUM

extern const char *const vt_iterations_words[VT_NR_ITERATION_KINDS];
extern const char *const vt_iterations_plurals[VT_NR_ITERATION_KINDS];

/* Fewer marks or calls are no rhythm. */
#define VT_ITERATIONS_RHYTHM 6

struct vt_iterations {
	enum vt_iteration_kind kind;
	uint32_t nr;
	int64_t *ends;	     /* nr + 1 event numbers: [0] is the last before the first */
	uint32_t name;	     /* string id: of the mark, or the module's class; else 0 */
	int64_t duration_ns; /* of a slice; else 0 */
};

/* `last_event`: what comes behind it is the program's end, and no iteration. */
void vt_iterations_init(struct vt_iterations *iterations, const struct vt_stages *stages,
			int64_t last_event);
void vt_iterations_release(struct vt_iterations *iterations);

#endif
