/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SCALING_H
#define VT_ANALYZER_SCALING_H

/*
 * How the blocks of a recorded run follow its batch of b rows of s tokens: by owner where owners
 * never do (weights), else by what divides the bytes that were requested.
 */

#include "analyzer/attribution/attribution.h"

/* X(NAME, text, the assumption) */
#define VT_SCALINGS(X)                                                                             \
	X(NEITHER, "neither", "independent of the batch")                                          \
	X(BATCH, "b", "proportional to rows (divisible by b, not by b*s)")                         \
	X(SEQUENCE, "s", "proportional to positions, shared by all rows (divisible by s)")         \
	X(BOTH, "b*s", "proportional to tokens (divisible by b*s)")                                \
	X(SHIFTED, "b*(s-1)", "proportional to tokens that have a successor")                      \
	X(GROWN, "b*(s+i)", "proportional to tokens, including generated ones")                    \
	X(SQUARE, "s*s", "a mask of positions by positions")                                       \
	X(SCORES, "b*s*s", "as large as the softmax of the attention scores")

enum vt_scaling {
#define VT_SCALING_ID(name, text, why) VT_SCALING_##name,
	VT_SCALINGS(VT_SCALING_ID)
#undef VT_SCALING_ID
	VT_NR_SCALINGS
};

struct vt_scaling_size {
	uint64_t batch, seq; /* seq 0: its inputs have no sequence */
};

/* Reads "8x512", or "8" where there is no sequence.  Returns 0, or -1. */
int vt_scaling_size_parse(struct vt_scaling_size *size, const char *text);

/*
 * Of what the program handed to its model, the input with most tokens: in generation that is the
 * prompt.  Zero where no probe saw any, and where the inputs vary.
 */
struct vt_scaling_size vt_scaling_size_of(const struct vt_facts *facts);

/*
 * That `was` contradicts what the probe saw; NULL: it does not, or nothing was seen.  To be freed.
 */
char *vt_scaling_size_note(const struct vt_facts *facts, struct vt_scaling_size was);

struct vt_scalings {
	struct vt_scaling_size was;
	uint8_t *of;     /* by allocation: enum vt_scaling */
	uint64_t *grown; /* by allocation: i of VT_SCALING_GROWN */
	uint8_t *of_failed; /* by request that failed (vt_model.ooms): enum vt_scaling */
};

/*
 * `was` as a user gave it, or zero: then it is read from what the program handed to its model.
 * 0, or -1 with `diag` filled: no inputs were seen, or they vary (exit code 3), or `was` is no size
 * of a batch (2).
 */
int vt_scalings_init(struct vt_scalings *scalings, struct vt_attribution *attribution,
		     struct vt_scaling_size was, struct vt_diag *diag);
void vt_scalings_release(struct vt_scalings *scalings);

/* Of one request that failed, by its number in vt_model.ooms, without looking at any block. */
enum vt_scaling vt_scaling_of_failed(struct vt_attribution *attribution, struct vt_scaling_size was,
				     uint32_t oom);

/* What the bytes of an allocation are to be multiplied with. */
double vt_scalings_factor(const struct vt_scalings *scalings, uint32_t allocation,
			  struct vt_scaling_size is);
/* ... of a request that failed, by its number in vt_model.ooms. */
double vt_scalings_factor_of_failed(const struct vt_scalings *scalings, uint32_t oom,
				    struct vt_scaling_size is);

const char *vt_scaling_text(enum vt_scaling scaling);
const char *vt_scaling_assumption(enum vt_scaling scaling);

#endif
