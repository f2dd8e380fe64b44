/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIT_H
#define VT_ANALYZER_FIT_H

/*
 * Whether a plan fits a card, and which single change would make it.
 */

#include "analyzer/planner/plan.h"

/* X(NAME, text) */
#define VT_FITS(X)                                                                                 \
	X(YES, "fits")                                                                             \
	X(TIGHT, "tight")                                                                          \
	X(NO, "does not fit")

enum vt_fit {
#define VT_FIT_ID(name, text) VT_FIT_##name,
	VT_FITS(VT_FIT_ID)
#undef VT_FIT_ID
};

/*
 * TIGHT: the expected peak fits, but the upper end of the estimate, or 90 % of the card, do not:
 * a caching allocator fragments.
 */
enum vt_fit vt_fit_judge(const struct vt_plan *plan, const struct vt_gpu *gpu);
const char *vt_fit_text(enum vt_fit fit);

/* Usable bytes less the expected peak. */
double vt_fit_headroom(const struct vt_plan *plan, const struct vt_gpu *gpu);

/*
 * The type that the card computes in where it does not have the planned one ("fp16" for bf16 below
 * capability 8.0, "fp32" for fp16 below 5.3), NULL where it does.
 */
const char *vt_fit_fallback(const struct vt_plan *plan, const struct vt_gpu *gpu);

/* One change of one setting. */
struct vt_change {
	enum vt_setting id;
	char value[24];
	const char *cost; /* in words: what it takes in return */
	double peak, saves;
	enum vt_fit fit;
};

VT_VECTOR_DECLARE(vt_changes, struct vt_change);

/* Every single change that saves something, the cheapest first. */
void vt_fit_ladder(const struct vt_plan *plan, const struct vt_gpu *gpu,
		   struct vt_changes *changes);

#endif
