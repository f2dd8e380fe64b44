/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LEVEL_SHIFTS_H
#define VT_ANALYZER_LEVEL_SHIFTS_H

/*
 * Where a series of figures, one per commit, took another level.
 *
 * Both sides of a possible step are seen by their medians over at most VT_LEVEL_SHIFTS_WINDOW
 * figures, so that single outliers count little.  The noise is 1.4826 times the median of what the
 * figures differ from these by, at least VT_LEVEL_SHIFTS_LEAST_NOISE of the level.  A step is where
 * the medians lie at least VT_LEVEL_SHIFTS_SCORE standard errors of a median apart, the highest
 * first, then on both sides of it; its place is where the sum of the distances from both medians
 * is the least.  A step has VT_LEVEL_SHIFTS_LEAST figures on either side: with fewer it may be an
 * outlier.
 *
 * Where figures on either side lie on the other side of the middle between the medians, they may
 * come from one heap of few levels (a segment of an allocator more or less): the chance of that,
 * by Fisher's exact test, must be at most VT_LEVEL_SHIFTS_CHANCE.
 */

#include <stddef.h>

#include "analyzer/base/util.h"

#define VT_LEVEL_SHIFTS_WINDOW	     20
#define VT_LEVEL_SHIFTS_LEAST	     3
#define VT_LEVEL_SHIFTS_SCORE	     8.0
#define VT_LEVEL_SHIFTS_LEAST_NOISE 0.0005
#define VT_LEVEL_SHIFTS_CHANCE	     1e-4

struct vt_level_shift {
	size_t at; /* the first figure of the new level */
	double before, after; /* medians */
	double score; /* standard errors between them */
};

VT_VECTOR_DECLARE(vt_level_shifts, struct vt_level_shift);

/* Into an empty list, in order. */
void vt_level_shifts_find(struct vt_level_shifts *steps, const double *figures, size_t nr);

#endif
