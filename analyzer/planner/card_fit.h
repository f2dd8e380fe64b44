/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CARD_FIT_H
#define VT_ANALYZER_CARD_FIT_H

/*
 * Whether a plan fits a card, and which changes would make it.
 */

#include "analyzer/planner/plan.h"

/* X(NAME, text) */
#define VT_FITS(X)                                                                                 \
	X(YES, "fits")                                                                             \
	X(TIGHT, "tight")                                                                          \
	X(GUESSED, "may fit")                                                                      \
	X(NO, "does not fit")

enum vt_card_fit {
#define VT_FIT_ID(name, text) VT_FIT_##name,
	VT_FITS(VT_FIT_ID)
#undef VT_FIT_ID
};

/* Above this share PyTorch's allocator begins to retry and to free its cache (torchtune 1360). */
#define VT_FIT_COMFORTABLE 0.9

/*
 * TIGHT: the expected peak fits, but the upper end of the estimate, or 90 % of the card, do not:
 * a caching allocator fragments.  GUESSED: it fits, of a model that was read as another kind.
 */
enum vt_card_fit vt_card_fit_judge(const struct vt_plan *plan, const struct vt_gpu *gpu);
const char *vt_card_fit_text(enum vt_card_fit fit);

/* Usable bytes less the expected peak. */
double vt_card_fit_headroom(const struct vt_plan *plan, const struct vt_gpu *gpu);

/*
 * The type that the card computes in where it does not have the planned one ("fp16" for bf16 below
 * capability 8.0, "fp32" for fp16 below 5.3), NULL where it does.
 */
const char *vt_card_fit_fallback(const struct vt_plan *plan, const struct vt_gpu *gpu);

/* One setting, changed. */
struct vt_change_step {
	enum vt_setting id;
	char value[24];
	const char *cost; /* in words: what it takes in return */
};

/* One or two of them together. */
struct vt_change {
	struct vt_change_step steps[2];
	unsigned nr_steps;
	double peak, saves;
	enum vt_card_fit fit;
	int is_enough; /* a plan that did not fit does; one that was tight fits */
};

VT_VECTOR_DECLARE(vt_changes, struct vt_change);

struct vt_ladder {
	struct vt_changes singles; /* every one that saves or is enough, the cheapest first */
	struct vt_changes pairs;   /* where none of those is enough: two together that are */
	int has_enough;            /* of either */
};

/* Zero-initialised before; vt_card_fit_ladder_release() after. */
void vt_card_fit_ladder(const struct vt_plan *plan, const struct vt_gpu *gpu,
			struct vt_ladder *ladder);
void vt_card_fit_ladder_release(struct vt_ladder *ladder);

#endif
